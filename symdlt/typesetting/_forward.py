"""Stochastic forward equations in the notation of PDLT."""

from __future__ import annotations

from symdlt.forward import ForwardEquation, ForwardTerm
from symdlt.networks import Forest, connected_components
from symdlt.typesetting._lines import broken_lines, estimated_width
from symdlt.typesetting._notation import Conventions, sample

Edges = tuple[tuple[int, int], ...]

_HEADS = {
    (0,): "z",
    (1, 1): r"\widehat{H}",
    (1, 1, 2): r"\widehat{\mathrm{d}H}",
    (1, 1, 1, 3): r"\widehat{\mathrm{dd}_{\mathrm{I}}H}",
    (1, 1, 2, 2): r"\widehat{\mathrm{dd}_{\mathrm{II}}H}",
}


def forward_latex(equation: ForwardEquation, use: Conventions) -> str:
    """The equation as lines of an `align` body."""
    forest = equation.forest
    same = tuple(range(forest.vertices))
    heads = [
        _tree(forest.edges, tree, "i", same, same, r"\ell+1", use) for tree in forest.components
    ]
    head = "".join(heads)
    terms = [
        ("" if not k else "+", factors)
        for k, factors in enumerate(
            factors for term in equation.terms for factors in _products(forest, term, use)
        )
    ]
    first, *rest = broken_lines(terms, estimated_width(head) + 25.0, use.width)
    return " \\\\\n".join([f"{head} &= {first.strip()}", *(f"&\\quad {x.strip()}" for x in rest)])


def _products(forest: Forest, term: ForwardTerm, use: Conventions) -> list[list[str]]:
    """The factors of a term, once for each choice of W or b at the isolated vertices."""
    isolated = [v for v, degree in enumerate(forest.degrees) if degree == 0]
    return [
        _factors(forest, term, {v for k, v in enumerate(isolated) if choice >> k & 1}, use)
        for choice in range(2 ** len(isolated))
    ]


def _factors(forest: Forest, term: ForwardTerm, biased: set[int], use: Conventions) -> list[str]:
    upper = use.layer(r"\ell+1")
    neuron = list(range(forest.vertices))
    for u, v in term.new_weights:
        neuron[v] = u
    still = biased | {v for edge in term.new_biases for v in edge}
    moving = [v for v in range(forest.vertices) if v not in still]
    parts = [rf"\delta_{{i_{u}i_{v}}}" for u, v in (*term.new_biases, *term.new_weights)]
    parts += [rf"\lambda_b{upper}"] * len(term.new_biases)
    if term.new_weights:
        rate = rf"\frac{{\lambda_W{upper}}}{{n_{{\ell}}}}"
        count = len(term.new_weights)
        parts.append(rate if count == 1 else rf"\left({rate}\right)^{{{count}}}")
    if moving:
        names = ",".join(f"j_{v}" for v in sorted({neuron[v] for v in moving}))
        parts.append(rf"\sum_{{{names}}}")
    parts += [f"b_{{i_{v}}}{upper}" for v in sorted(biased)]
    parts += [f"W_{{i_{v}j_{v}}}{upper}" for v in moving if term.carries_weight(v)]
    parts += [_sigma(term, v, neuron[v], use) for v in moving]
    above = tuple(v for v, _ in term.lower_vertices)
    for tree in connected_components(range(len(above)), term.lower_edges):
        parts.append(_tree(term.lower_edges, tree, "j", above, tuple(neuron), r"\ell", use))
    return parts


def _sigma(term: ForwardTerm, vertex: int, neuron: int, use: Conventions) -> str:
    order = len(term.blocks[vertex])
    above = r"\prime" * order if order < 4 else f"({order})"
    above += r"(\ell)" if use.layers else ""
    below = rf"_{{j_{neuron};{sample(vertex)}}}"
    return r"\sigma" + below + (f"^{{{above}}}" if above else "")


def _tree(
    edges: Edges,
    tree: tuple[int, ...],
    letter: str,
    above: tuple[int, ...],
    neuron: tuple[int, ...],
    layer: str,
    use: Conventions,
) -> str:
    near = {v: [u if w == v else w for u, w in edges if v in (u, w)] for v in tree}
    degrees = tuple(sorted(len(ends) for ends in near.values()))
    order = sorted(tree, key=lambda v: (-len(near[v]), v))
    if degrees == (1, 1, 2, 2):
        ends = [next(u for u in near[v] if len(near[u]) == 1) for v in order[:2]]
        order = order[:2] + ends
    head = _HEADS.get(degrees)
    if head is None:
        place = {v: k for k, v in enumerate(order)}
        links = sorted(sorted((place[u], place[v])) for u, v in edges if u in place)
        head = rf"\widehat{{X}}^{{[{','.join(f'{u}{v}' for u, v in links)}]}}"
    neurons = "".join(f"{letter}_{neuron[above[v]]}" for v in order)
    samples = "".join(sample(above[v]) for v in order)
    body = f"{head}_{{{neurons};{samples}}}"
    return body + (use.layer(layer) if "^" not in head else "")
