"""Large-width expansion of a contracted moment: which diagrams contribute at which order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import combinations_with_replacement
from math import factorial

from symdlt.combinatorics import connected_components, set_partitions
from symdlt.definitions import Correlator
from symdlt.derivation.contraction import ContractedMoment, Contraction
from symdlt.errors import DerivationError, OrderError, require

Groups = tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class LowerCumulant:
    r"""One connected cumulant of layer ℓ in a diagram.

    Attributes:
        trees: numbers of the lower trees in it; none for a cumulant of preactivations only.
        matched: pairs of lower vertices that share a neuron.
        joined: lower vertices that share a neuron with an inserted z.
        inserted: the group of each pair of inserted z's that share a neuron.
        piece: 0 for the leading piece of the cumulant, s for its correction of relative
            order $n_{\ell-1}^{-s}$.
    """

    trees: tuple[int, ...]
    matched: tuple[tuple[int, int], ...]
    joined: tuple[int, ...]
    inserted: tuple[int, ...]
    piece: int

    @property
    def pairs(self) -> int:
        """How many pairs of legs it has."""
        return len(self.matched) + len(self.joined) + len(self.inserted)

    @property
    def order(self) -> int:
        r"""Its power of $1/n_{\ell-1}$."""
        return self.pairs - 1 + self.piece


@dataclass(frozen=True, slots=True)
class Diagram:
    r"""One connected term of the large-width expansion.

    The neuron sums of the matched pairs are merged into blocks, each with one sum
    $n_\ell$; a block is split into groups of truly coinciding neurons. The split carries the
    coefficient of $n^{1}$ in $n(n-1)\cdots(n-g+1)$, which is $(-1)^{g-1}(g-1)!$. A neuron that is
    kept, and not summed over, differs from every other kept one; a block with one of them has no
    sum, and the same coefficient, as $(n-k)(n-k-1)\cdots$ counts the neurons beside k others.

    Attributes:
        contraction: the average over the new layer it comes from.
        merges: for each neuron sum, the numbers of the groups merged in it.
        groups: the matched pairs of each group; one group is one Gaussian bracket.
        cumulants: the cumulants of layer ℓ that join the groups.
    """

    contraction: Contraction
    merges: tuple[tuple[int, ...], ...]
    groups: Groups
    cumulants: tuple[LowerCumulant, ...]

    @property
    def coefficient(self) -> Fraction:
        """Falling factorials and symmetry factors, without the hyperparameters."""
        above, below = self.contraction.number.as_integer_ratio()
        for merge in self.merges:
            above *= (-1) ** (len(merge) - 1) * factorial(len(merge) - 1)
        for cumulant in self.cumulants:
            below *= 2 ** len(cumulant.inserted)
            for count in Counter(cumulant.inserted).values():
                below *= factorial(count)
        for cumulant, count in Counter(self.cumulants).items():
            if not cumulant.trees:
                below *= factorial(count)
        return Fraction(above, below)

    @property
    def upper_order(self) -> int:
        r"""The power of $1/n_\ell$."""
        return len(self.contraction.neurons) - len(self.merges)

    @property
    def lower_order(self) -> int:
        r"""The power of $1/n_{\ell-1}$."""
        return sum(cumulant.order for cumulant in self.cumulants)


@dataclass(frozen=True, slots=True)
class WidthExpansion:
    r"""All diagrams of one correlator at one order in 1/n.

    Attributes:
        correlator: the tensor.
        piece: which piece of it, 0 for the leading one.
        diagrams: the connected diagrams whose orders add up to $m - 1 + $ piece.
    """

    correlator: Correlator
    piece: int
    diagrams: tuple[Diagram, ...]

    def __repr__(self) -> str:
        return (
            f"WidthExpansion({self.correlator.name}[{self.piece}], diagrams={len(self.diagrams)})"
        )


def expand_in_width(moment: ContractedMoment, piece: int = 0) -> WidthExpansion:
    r"""Expand a contracted moment in the widths.

    $$n_\ell^{-m}\sum_{j_1\ldots j_m}\mathbb{E}_\ell[\cdots]_{\rm conn}
      = \sum_{\text{diagrams}} n_\ell^{-a}\, n_{\ell-1}^{-b}\,(\ldots),\qquad
      a + b = m - 1 + \text{piece}.$$

    Only diagrams that connect all clusters of the contracted moment enter a connected
    correlator. It is checked that none of them is of an order below $m-1$.

    Args:
        moment: the correlator averaged over the new layer.
        piece: how many orders beyond the leading one.

    Raises:
        OrderError: if the piece is negative.
        DerivationError: if an order that must cancel does not.

    >>> from symdlt.derivation import forward_equation
    >>> from symdlt.definitions import tensor
    >>> from symdlt.derivation import contract_matching
    >>> V = tensor("V")
    >>> expand_in_width(contract_matching(forward_equation(V.forest), V))
    WidthExpansion(V[0], diagrams=3)
    """
    advice = "Give what `contract_matching` returned."
    require(moment, ContractedMoment, "a contracted moment", advice)
    correlator = moment.correlator
    if type(piece) is not int:
        raise OrderError(
            f"The piece {piece!r} is not a whole number. Tensor: {correlator.name}. "
            "Pieces are counted 0, 1, 2, …, the leading one first."
        )
    if piece < 0:
        raise OrderError(
            f"A piece of negative order {piece} was asked for. Tensor: {correlator.name}. "
            "Pieces are counted from 0, the leading one."
        )
    order = correlator.pairs - 1 + piece
    diagrams = []
    for contraction in moment.contractions:
        for diagram in _diagrams(moment, contraction, order):
            total = diagram.upper_order + diagram.lower_order
            if total < correlator.pairs - 1:
                raise DerivationError(
                    f"A connected diagram of order {total} does not cancel. "
                    f"Tensor {correlator.name} must start at order {correlator.pairs - 1}: "
                    f"{diagram!r}. This is a fault of symdlt; please report it."
                )
            if total == order:
                diagrams.append(diagram)
    return WidthExpansion(correlator, piece, tuple(diagrams))


def _diagrams(moment: ContractedMoment, contraction: Contraction, order: int) -> Iterator[Diagram]:
    if not contraction.neurons:
        if order == 0:
            yield Diagram(contraction, (), (), ())
        return
    places, fields = contraction.places, contraction.fields
    trees = contraction.lower_trees
    standing = tuple(sorted([tuple(sorted([places[v] for v in tree])) for tree in trees]))
    of_neurons = contraction.neurons, contraction.kept, contraction.apart
    for merges, groups, budget in _affordable_patterns(*of_neurons, standing, order, fields):
        seats = _seats(groups, places, fields)
        homes = tuple([seat // fields for seat in seats])
        for dressed in _tree_cumulants(trees, seats, len(groups), budget):
            rest = budget - sum([cumulant.order for cumulant in dressed])
            for bare in _bare_cumulants(len(groups), rest):
                cumulants = dressed + bare
                if _connects(moment.clusters, merges, groups, homes, cumulants):
                    yield Diagram(contraction, merges, groups, cumulants)


@lru_cache(maxsize=1 << 16)
def _affordable_patterns(
    neurons: tuple[int, ...],
    kept: tuple[int, ...],
    apart: bool,
    standing: Groups,
    order: int,
    fields: int,
) -> tuple[tuple[Groups, Groups, int], ...]:
    """The patterns of neurons in which no diagram need exceed an order, and what is left of it.

    Contractions of many tensors share what is asked here: where the legs of their trees stand.
    Of 1/n^3 there are 163 417 contractions, and 20 502 such questions.
    """
    affordable = []
    least: dict[Groups, int] = {}
    for merges, groups in neuron_patterns(neurons, kept, apart):
        if groups not in least:
            seated = [tuple(sorted(_seats(groups, tree, fields))) for tree in standing]
            least[groups] = _least_order(tuple(sorted(seated)))
        budget = order - len(neurons) + len(merges)
        if least[groups] <= budget:
            affordable.append((merges, groups, budget))
    return tuple(affordable)


def _seats(groups: Groups, places: tuple[int, ...], fields: int) -> tuple[int, ...]:
    """The group of the matched pair of each leg, with its field: legs of one seat can be paired."""
    home = {
        pair * fields + field: g * fields + field
        for g, group in enumerate(groups)
        for pair in group
        for field in range(fields)
    }
    return tuple([home[place] for place in places])


@lru_cache(maxsize=1 << 16)
def _least_order(seated: Groups) -> int:
    """The least order that cumulants of these trees can have together.

    Args:
        seated: the seats in which the legs of each tree stand, the trees in any order.
    """
    return min((least for _, _, least in _first_blocks(seated)), default=0)


@lru_cache(maxsize=1 << 16)
def _first_blocks(seated: Groups) -> tuple[tuple[tuple[int, ...], tuple[int, ...], int], ...]:
    """The trees that share a cumulant with the first one, the others, and their least order.

    A cumulant with c legs in one group has at least c/2 pairs there, the odd leg with a z.
    """
    if not seated:
        return ()
    choices = []
    others = range(1, len(seated))
    for mask in range(1 << len(others)):
        chosen = (0, *[t for t in others if mask >> t - 1 & 1])
        left = tuple([t for t in others if not mask >> t - 1 & 1])
        legs = Counter([group for t in chosen for group in seated[t]])
        least = sum([(count + 1) // 2 for count in legs.values()]) - 1
        rest = _least_order(tuple(sorted([seated[t] for t in left])))
        choices.append((chosen, left, least + rest))
    return tuple(choices)


def _connects(
    clusters: Groups,
    merges: tuple[tuple[int, ...], ...],
    groups: Groups,
    homes: tuple[int, ...],
    cumulants: tuple[LowerCumulant, ...],
) -> bool:
    """Whether merged sums and cumulants join all clusters into one."""
    if len(clusters) == 1:
        return True
    links = [[groups[g][0] for g in merge] for merge in merges if len(merge) > 1]
    links += [list(group) for group in groups if len(group) > 1]
    links += [list(cluster) for cluster in clusters if len(cluster) > 1]
    for c in cumulants:
        touched = {homes[v] for pair in c.matched for v in pair}
        touched |= {homes[v] for v in c.joined} | set(c.inserted)
        if len(touched) > 1:
            links.append([groups[g][0] for g in sorted(touched)])
    pairs = [pair for cluster in clusters for pair in cluster]
    return len(connected_components(pairs, links)) == 1


@lru_cache(maxsize=64)
def neuron_patterns(
    pairs: tuple[int, ...], kept: tuple[int, ...] = (), apart: bool = False
) -> tuple[tuple[Groups, Groups], ...]:
    """All (merges, groups): set partitions of the pairs into groups, and of those into merges.

    No merge has two pairs whose neurons are kept, for these differ; nor one with others, if these
    are neurons apart.

    >>> len(neuron_patterns((0, 1))), len(neuron_patterns((0, 1, 2)))
    (3, 12)
    >>> neuron_patterns((0, 1), kept=(0, 1))
    ((((0,), (1,)), ((0,), (1,))),)
    """
    patterns: list[tuple[Groups, Groups]] = []
    for groups in set_partitions(pairs):
        for merges in set_partitions(tuple(range(len(groups)))):
            merged = [[pair for g in merge for pair in groups[g]] for merge in merges]
            together = [(len(block), sum(pair in kept for pair in block)) for block in merged]
            if all(own <= 1 and not (own and apart and size > 1) for size, own in together):
                patterns.append((merges, groups))
    return tuple(sorted(patterns, key=lambda p: (-len(p[0]), p)))


@lru_cache(maxsize=1 << 16)
def _tree_cumulants(
    trees: tuple[tuple[int, ...], ...], seats: tuple[int, ...], groups: int, budget: int
) -> tuple[tuple[LowerCumulant, ...], ...]:
    """All ways to put the trees into cumulants of total order at most `budget`."""
    return tuple(_grouped(tuple(range(len(trees))), trees, seats, groups, budget))


def _grouped(
    waiting: tuple[int, ...],
    trees: tuple[tuple[int, ...], ...],
    seats: tuple[int, ...],
    groups: int,
    budget: int,
) -> Iterator[tuple[LowerCumulant, ...]]:
    if not waiting:
        yield ()
        return
    seated = tuple([tuple(sorted([seats[v] for v in trees[t]])) for t in waiting])
    for block, others, least in _first_blocks(seated):
        if least > budget:
            continue
        chosen, left = (tuple([waiting[t] for t in part]) for part in (block, others))
        legs = tuple([v for t in chosen for v in trees[t]])
        spare = budget - _least_order(tuple(sorted([seated[t] for t in others])))
        for cumulant in _one_cumulant(chosen, legs, seats, groups, spare):
            for rest in _grouped(left, trees, seats, groups, budget - cumulant.order):
                yield (cumulant, *rest)


def _one_cumulant(
    chosen: tuple[int, ...], legs: tuple[int, ...], seats: tuple[int, ...], groups: int, budget: int
) -> Iterator[LowerCumulant]:
    for matched, joined in _partial_matchings(legs, seats):
        spare = budget - (len(matched) + len(joined) - 1)
        for extra in range(spare + 1):
            for inserted in combinations_with_replacement(range(groups), extra):
                for piece in range(spare - extra + 1):
                    yield LowerCumulant(chosen, matched, joined, inserted, piece)


def _partial_matchings(
    legs: tuple[int, ...], seats: tuple[int, ...]
) -> Iterator[tuple[tuple[tuple[int, int], ...], tuple[int, ...]]]:
    """Pairs of legs on one neuron, and the legs left for inserted z's."""
    if not legs:
        yield (), ()
        return
    first, rest = legs[0], legs[1:]
    for k, other in enumerate(rest):
        if seats[other] == seats[first]:
            for matched, joined in _partial_matchings(rest[:k] + rest[k + 1 :], seats):
                yield ((first, other), *matched), joined
    for matched, joined in _partial_matchings(rest, seats):
        yield matched, (first, *joined)


@lru_cache(maxsize=1024)
def _bare_cumulants(groups: int, budget: int) -> tuple[tuple[LowerCumulant, ...], ...]:
    """Multisets of preactivation cumulants of total order exactly `budget`."""
    kinds = [
        LowerCumulant((), (), (), inserted, piece)
        for pairs in range(1, budget + 2)
        for piece in range(budget - pairs + 2)
        if pairs + piece > 1
        for inserted in combinations_with_replacement(range(groups), pairs)
    ]
    return tuple(_multisets(tuple(kinds), budget))


def _multisets(
    kinds: tuple[LowerCumulant, ...], budget: int
) -> Iterator[tuple[LowerCumulant, ...]]:
    if budget == 0:
        yield ()
        return
    for k, kind in enumerate(kinds):
        if kind.order <= budget:
            for rest in _multisets(kinds[k:], budget - kind.order):
                yield (kind, *rest)
