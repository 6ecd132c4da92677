"""From what a user types to a correlator: letters, systematic names, edges and matchings."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from reprlib import repr as short_repr

from symdlt.definitions.forests import OBSERVABLES, Edge, Forest, sorted_pairs
from symdlt.definitions.odd_tensors import NAMED, ODD, AnyTensor
from symdlt.definitions.tensors import BOOK, MOST_AXES, Correlator, identify
from symdlt.errors import GraphError, UnknownTensorError, require

_SYSTEMATIC = re.compile(r"x([1-9][0-9]?)((?:_[0-9a-z]{2})*)")
_SUBLEADING = re.compile(r"([^.\[]+)(?:\.(\d{1,9})|\[(\d{1,9})\])")

ALIASES = {"K": "G", "Theta": "H", "Θ": "H", "NTK": "H"}
"""What else people call the metric, whose leading order is the kernel K, and the mean NTK."""


def tensor(name: str) -> Correlator:
    """The tensor with that name.

    The thirteen of the book are G H V A B D F P Q R S T U; K is G, and Theta and NTK
    are H; small letters will do. Any other one is X, the number of axes 2m, and the edges as
    pairs of base-36 digits, axes 2k and 2k+1 sharing a neuron: `X6_01_24` has
    six axes, matched 01, 23, 45, and the edges 0-1 and 2-4.

    Args:
        name: a letter or a systematic name, not necessarily in canonical numbering.

    Raises:
        UnknownTensorError: if it is neither.
        GraphError: if the edges are not a forest.

    >>> tensor("X6_24_01").name
    'X6_01_24'
    >>> tensor("X4_02_13").name
    'B'
    """
    match = _SYSTEMATIC.fullmatch(name.strip().lower()) if isinstance(name, str) else None
    letter = letter_of(name) if isinstance(name, str) else ""
    if letter in BOOK:
        return BOOK[letter]
    if letter in ODD:
        raise UnknownTensorError(
            f"{letter} is an odd tensor, with a vertex that is in no pair. Layers have one only if "
            "they keep neurons. Ask `layer_equations` for its recursion, and `propagate` or "
            "`check` for numbers."
        )
    if not match or int(match[1]) % 2 or int(match[1]) > MOST_AXES:
        raise UnknownTensorError(
            f"There is no tensor {short_repr(name)}. Known are {' '.join(BOOK)}, of layers "
            f"that keep neurons {' '.join(ODD)}, and systematic names such as X6_01_24 (an even "
            f"number of axes, at most {MOST_AXES}, then the edges); `derive` takes one piece of a "
            "tensor as G.1. See them with `symdlt list --order K`."
            f"{_suggestion(name)}"
        )
    edges = tuple((int(e[0], 36), int(e[1], 36)) for e in match[2].split("_")[1:])
    size = int(match[1])
    return correlator_from(edges, [(2 * k, 2 * k + 1) for k in range(size // 2)])


def named_tensor(name: str) -> AnyTensor:
    """The tensor with that name, which may be an odd one.

    Raises:
        UnknownTensorError: if there is none.

    >>> named_tensor("n3"), named_tensor("V").name
    (OddTensor(N3), 'V')
    """
    odd = ODD.get(letter_of(name)) if isinstance(name, str) else None
    return odd or tensor(name)


def letter_of(name: str) -> str:
    """The tensor with a name that one stands for, in whatever case; or the name itself.

    >>> letter_of("ntk"), letter_of("v"), letter_of("a3"), letter_of("X6")
    ('H', 'V', 'A3', 'X6')
    """
    known = {one.casefold(): ALIASES.get(one, one) for one in (*NAMED, *ALIASES)}
    return known.get(name.strip().casefold(), name)


def _suggestion(name: object) -> str:
    """What may have been meant: the tensors of an observable, or a name that is spelled alike."""
    if not isinstance(name, str):
        return ""
    asked = name.strip().casefold().replace("_", "-")
    trees = [forest for known, forest in OBSERVABLES.items() if known.casefold() == asked]
    trees += [OBSERVABLES[f"ddNTK-{kind}"] for kind in ("I", "II") if asked == "ddntk"]
    shapes = {tuple(sorted(tree.degrees)) for tree in trees}
    names = [letter for letter, one in BOOK.items() if shapes & set(_shapes(one))]
    if not names:
        spelled = {known.casefold(): known for known in (*BOOK, *ALIASES)}
        alike = get_close_matches(asked, spelled, n=3, cutoff=0.75)
        names = list(dict.fromkeys(spelled[known] for known in alike))
    return f" Did you mean {' or '.join(names)}?" if names else ""


def _shapes(correlator: Correlator) -> Iterator[tuple[int, ...]]:
    """The degrees of the vertices of each tree of a correlator, sorted."""
    for tree in correlator.forest.components:
        yield tuple(sorted(correlator.forest.degrees[vertex] for vertex in tree))


def split_subleading(name: str) -> tuple[str, int]:
    """The name of a tensor and the number of its piece: "V.1" and "V[1]" are ("V", 1).

    >>> split_subleading("G.1"), split_subleading("R")
    (('G', 1), ('R', 0))
    """
    require(name, str, "the name of a tensor", "Give one such as 'R' or 'G.1'.")
    match = _SUBLEADING.fullmatch(name)
    if not match:
        return name, 0
    return match[1], int(match[2] or match[3])


def canonical_name(name: str) -> str:
    """The name that results carry of what was asked for by another: G of K, H.1 of Theta.1.

    >>> canonical_name("K"), canonical_name("theta.1"), canonical_name("X6_02_14")
    ('G', 'H.1', 'X6_02_14')
    """
    base, piece = split_subleading(name)
    return letter_of(base) + (f".{piece}" if piece else "")


def correlator_from(edges: Sequence[Edge], matching: Sequence[Edge]) -> Correlator:
    """The tensor of a numbered forest and a perfect matching of its vertices.

    Args:
        edges: pairs of vertices, numbered from 0.
        matching: the pairs of vertices that share a neuron; every vertex stands in one.

    Raises:
        GraphError: for a cycle, a repeated edge, or a matching that is not perfect.

    >>> correlator_from([(0, 1), (0, 2)], [(0, 3), (1, 2)]).name
    'P'
    """
    return _identified(edges, matching)[0]


def vertex_labels(edges: Sequence[Edge], matching: Sequence[Edge]) -> tuple[int, ...]:
    """The label under which each vertex of a numbered forest is printed as a sample.

    Args:
        edges: as for `correlator_from`.
        matching: as for `correlator_from`.

    >>> vertex_labels([(0, 1)], [(0, 2), (1, 3)])  # F, whose NTK has the samples 3 and 4
    (3, 4, 1, 2)
    """
    correlator, ways = _identified(edges, matching)
    labels = dict(zip(ways[0], correlator.labels, strict=True))
    return tuple(labels[vertex] for vertex in range(correlator.axes))


def _identified(
    edges: Sequence[Edge], matching: Sequence[Edge]
) -> tuple[Correlator, tuple[tuple[int, ...], ...]]:
    pairs = sorted_pairs(matching, "matching")
    forest = Forest(2 * len(pairs), sorted_pairs(edges, "edges"))
    given = Correlator(forest, pairs)
    return identify(forest.vertices, forest.edges, given.matching)


def parse_pairs(text: str, what: str) -> tuple[Edge, ...]:
    """Pairs of vertices from "0-1,0-2" or, for single digits, "03,12".

    Raises:
        GraphError: if the text is not a list of pairs.
    """
    require(text, str, "a list of pairs", "Write pairs as 0-1,0-2 or 01,02.")
    pairs = []
    for part in filter(None, (piece.strip() for piece in text.split(","))):
        match = re.fullmatch(r"(\d{1,9})-(\d{1,9})|(\d)(\d)", part)
        if not match:
            raise GraphError(
                f"Cannot read {part!r} as a pair of vertices. It stands in the {what} {text!r}. "
                "Write pairs as 0-1,0-2 or 01,02."
            )
        first, second = (group for group in match.groups() if group is not None)
        pairs.append((int(first), int(second)))
    return tuple(pairs)
