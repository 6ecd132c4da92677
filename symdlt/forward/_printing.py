"""Plain text of stochastic forward equations."""

from __future__ import annotations

from symdlt.forward._equation import ForwardEquation, ForwardTerm
from symdlt.networks import OBSERVABLES, Forest, connected_components

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
        lines.extend(f"  + {text}" for text in _term_texts(forest, term))
    return "\n".join(lines)


def _term_texts(forest: Forest, term: ForwardTerm) -> list[str]:
    """The term, once for every choice of W or b at the vertices without derivatives."""
    neuron = {v: v for v in range(forest.vertices)}
    for u, v in term.new_weights:
        neuron[v] = u
    still = {v for edge in term.new_biases for v in edge}
    isolated = [v for v, degree in enumerate(forest.degrees) if degree == 0]
    texts = []
    for choice in range(2 ** len(isolated)):
        biased = {v for k, v in enumerate(isolated) if choice >> k & 1}
        texts.append(_one_text(forest, term, neuron, still | biased, biased))
    return texts


def _one_text(
    forest: Forest, term: ForwardTerm, neuron: dict[int, int], still: set[int], biased: set[int]
) -> str:
    moving = [v for v in range(forest.vertices) if v not in still]
    parts = ["lambda_b"] * len(term.new_biases) + ["lambda_W/n"] * len(term.new_weights)
    parts += [f"delta_{{i{u} i{v}}}" for u, v in (*term.new_biases, *term.new_weights)]
    parts += [f"b_{{i{v}}}" for v in sorted(biased)]
    if moving:
        names = " ".join(f"j{v}" for v in sorted({neuron[v] for v in moving}))
        parts.append(f"sum_{{{names}}}")
    parts += [f"W_{{i{v} j{v}}}" for v in moving if term.carries_weight(v)]
    parts += [f"s{_primes(len(term.blocks[v]))}_{{j{neuron[v]};d{v}}}" for v in moving]
    above = [v for v, _ in term.lower_vertices]
    for tree in connected_components(range(len(above)), term.lower_edges):
        parts.append(_tree(term.lower_edges, tree, "j", above, neuron))
    return " ".join(parts)


def _primes(order: int) -> str:
    return "'" * order if order < 4 else f"^({order})"


def _tree(
    edges: tuple[tuple[int, int], ...],
    tree: tuple[int, ...],
    letter: str,
    above: tuple[int, ...] | list[int],
    neuron: dict[int, int] | None = None,
) -> str:
    """A tree by the name of its shape, its vertices in the order of the definition."""
    where = {v: above[v] for v in tree} if neuron is not None else {v: v for v in tree}
    inside = tuple(e for e in edges if e[0] in tree)
    order, head = _standard_order(inside, tree)
    places = [where[v] for v in order]
    neurons = " ".join(f"{letter}{neuron[p] if neuron else p}" for p in places)
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
