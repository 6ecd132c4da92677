"""Plain text of stochastic forward equations."""

from __future__ import annotations

from symdlt.algebra import Polynomial
from symdlt.combinatorics import connected_components
from symdlt.definitions import FIELD, OBSERVABLES, WIDTH, Branch, Layer, ascii_name
from symdlt.derivation.forward import ForwardEquation, ForwardTerm, shared_neurons, spelled_out

_HEADS = {
    OBSERVABLES["preactivation"]: "z",
    OBSERVABLES["NTK"]: "H",
    OBSERVABLES["dNTK"]: "dH",
    OBSERVABLES["ddNTK-I"]: "ddI",
    OBSERVABLES["ddNTK-II"]: "ddII",
}


def equation_text(equation: ForwardEquation) -> str:
    """The whole equation, one term a line, neurons i above and j below."""
    forest = equation.forest
    trees = [_tree(forest.edges, tree, "i", tree) for tree in forest.components]
    head = " ".join(text.replace("}", "}[l+1]") for text in trees)
    lines = [f"{head} ="]
    for term in equation.terms:
        lines.extend(f"  + {_text(equation.layer, one)}" for one in spelled_out(equation, term))
    return "\n".join(lines)


def _text(layer: Layer, term: ForwardTerm) -> str:
    neuron = shared_neurons(term)
    taken = [layer.branches[k] for k in term.branches]
    reading = [v for v, branch in enumerate(taken) if branch.function is not None]
    summed = [v for v in reading if taken[v].summed]
    place = {v: f"j{neuron[v]}" if taken[v].summed else f"i{v}" for v in reading}
    parts = [_spelled(layer.branches[k].rate) for _, k in term.new]
    parts += [f"delta_{{i{u} i{v}}}" for (u, v), _ in term.new]
    parts += [_spelled(b.coefficient) for b in taken if b.coefficient != 1]
    drawn = [v for v, branch in enumerate(taken) if branch.tensor and not term.is_new(v)]
    parts += [f"{_letter(taken[v])}_{{i{v}}}" for v in drawn if not taken[v].summed]
    if summed:
        names = " ".join(f"j{v}" for v in sorted({neuron[v] for v in summed}))
        parts.append(f"sum_{{{names}}}")
    parts += [f"{_letter(taken[v])}_{{i{v} j{v}}}" for v in drawn if taken[v].summed]
    for v in reading:
        order = taken[v].order + len(term.blocks[v])
        if taken[v].order != FIELD:
            parts.append(f"s{_primes(order)}_{{{place[v]};d{v}}}")
        elif order == FIELD:
            parts.append(f"z_{{{place[v]};d{v}}}")
    above = [v for v, _ in term.lower_vertices]
    for tree in connected_components(range(len(above)), term.lower_edges):
        parts.append(_tree(term.lower_edges, tree, "j", above, place))
    return " ".join(parts)


def _letter(branch: Branch) -> str:
    return ascii_name(branch.tensor.name) if branch.tensor else ""


def _spelled(factor: Polynomial) -> str:
    """A constant of the layer in ASCII, the width of layer ℓ as n."""
    return ascii_name(str(factor).replace(WIDTH, "n").replace("²", "^2"))


def _primes(order: int) -> str:
    return "'" * order if order < 4 else f"^({order})"


def _tree(
    edges: tuple[tuple[int, int], ...],
    tree: tuple[int, ...],
    letter: str,
    above: tuple[int, ...] | list[int],
    place: dict[int, str] | None = None,
) -> str:
    """A tree by the name of its shape, its vertices in the order of the definition."""
    where = {v: above[v] for v in tree} if place is not None else {v: v for v in tree}
    inside = tuple(e for e in edges if e[0] in tree)
    order, head = _standard_order(inside, tree)
    places = [where[v] for v in order]
    neurons = " ".join(place[p] if place else f"{letter}{p}" for p in places)
    samples = " ".join(f"d{p}" for p in places)
    return f"{head}_{{{neurons}; {samples}}}"


def _standard_order(
    edges: tuple[tuple[int, int], ...], tree: tuple[int, ...]
) -> tuple[tuple[int, ...], str]:
    near: dict[int, list[int]] = {v: [] for v in tree}
    for u, v in edges:
        near[u].append(v)
        near[v].append(u)
    degrees = sorted(len(ends) for ends in near.values())
    if degrees == [1, 1, 2, 2]:
        first, second = sorted(v for v in tree if len(near[v]) == 2)
        ends = [next(u for u in near[v] if len(near[u]) == 1) for v in (first, second)]
        return (first, second, *ends), "ddII"
    order = tuple(sorted(tree, key=lambda v: (-len(near[v]), v)))
    shapes = {(0,): "z", (1, 1): "H", (1, 1, 2): "dH", (1, 1, 1, 3): "ddI"}
    if tuple(degrees) in shapes:
        return order, shapes[tuple(degrees)]
    place = {v: k for k, v in enumerate(order)}
    links = sorted(tuple(sorted((place[u], place[v]))) for u, v in edges)
    return order, "X(" + ",".join(f"{u}-{v}" for u, v in links) + ")"
