"""Orbit form: one term for all that differ by exchanging legs, written out only when asked."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations, groupby, product
from typing import TypeAlias

from symdlt.algebra.expression import Expression, relabel_term
from symdlt.algebra.index import Index
from symdlt.algebra.term import Term

Tree: TypeAlias = "int | tuple[Tree, ...]"
Shape: TypeAlias = "int | tuple[Shape, ...]"
Measure = tuple[tuple[object, ...], int]
Measures = dict["Tree", Measure]


@dataclass(frozen=True, slots=True, eq=False)
class Orbit:
    """A term and the others that come from it by exchanging alike legs.

    Orbits are equal when their legs are and their representatives are equal expressions.

    Attributes:
        representative: the term that is shown, coefficient included.
        legs: the free indices that each leg carries.
        classes: a number for each leg; only legs of one number are exchanged.
        tree: how the representative groups the legs; what is left unchanged when members of a
            group, or equal groups, are exchanged. A negative leaf -1-c marks a group that hangs on
            what a leg of class c shares with others: it tells groups apart and stays in place.

    >>> from symdlt.algebra import neurons, delta
    >>> i, j, k, l = neurons("i j k l", "n")
    >>> pairs = (delta(i, j) * delta(k, l)).terms[0]
    >>> orbit = Orbit(pairs, ((i,), (j,), (k,), (l,)), (0, 0, 0, 0), ((0, 1), (2, 3)))
    >>> orbit.multiplicity
    3
    """

    representative: Term
    legs: tuple[tuple[Index, ...], ...]
    classes: tuple[int, ...]
    tree: tuple[Tree, ...]

    @property
    def multiplicity(self) -> int:
        """Count the terms of the orbit."""
        return tree_multiplicity(self.tree, self.classes)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Orbit):
            return NotImplemented
        legs = (self.legs, self.classes, self.multiplicity)
        if legs != (other.legs, other.classes, other.multiplicity):
            return False
        return Expression((self.representative,)) == Expression((other.representative,))

    def __hash__(self) -> int:
        return hash((self.legs, self.classes, Expression((self.representative,))))

    def terms(self) -> Iterator[Term]:
        """Write the terms out one by one; they add up to what the orbit stands for."""
        leaves = list(leaves_of(self.tree))
        members: dict[int, tuple[int, ...]] = {}
        for leaf in leaves:
            members[self.classes[leaf]] = (*members.get(self.classes[leaf], ()), leaf)
        pools = {number: tuple(sorted(pool)) for number, pool in members.items()}
        for tree in label_trees(shape_of_tree(self.tree, self.classes), pools):
            names = {
                old: new
                for leaf, image in zip(leaves, leaves_of(tree), strict=True)
                for old, new in zip(self.legs[leaf], self.legs[image], strict=True)
            }
            yield relabel_term(self.representative, names)

    def __repr__(self) -> str:
        return f"Orbit({self.representative!r}, {self.multiplicity} terms)"

    def __str__(self) -> str:
        text = str(Expression((self.representative,)))
        others = self.multiplicity - 1
        if not others:
            return text
        return f"[{text} + {others} {'perm' if others == 1 else 'perms'}]"

    def latex(self) -> str:
        """Write the representative and the number of its permutations in LaTeX."""
        text = Expression((self.representative,)).latex()
        others = self.multiplicity - 1
        if not others:
            return text
        name = "perm" if others == 1 else "perms"
        return rf"\left[ {text} + {others}\ \text{{{name}}} \right]"


@dataclass(frozen=True, slots=True)
class OrbitSum:
    """A sum of orbits; `terms` writes it out lazily and `expand` all at once."""

    orbits: tuple[Orbit, ...]

    def __iter__(self) -> Iterator[Orbit]:
        return iter(self.orbits)

    def __len__(self) -> int:
        return len(self.orbits)

    @property
    def multiplicity(self) -> int:
        """Count the terms of all orbits."""
        return sum(orbit.multiplicity for orbit in self.orbits)

    def terms(self) -> Iterator[Term]:
        """Write all terms out one by one."""
        for orbit in self.orbits:
            yield from orbit.terms()

    def expand(self) -> Expression:
        """Write the sum out as an expression."""
        return Expression(tuple(self.terms()))

    def __str__(self) -> str:
        return " + ".join(str(orbit) for orbit in self.orbits) or "0"

    def __repr__(self) -> str:
        return f"OrbitSum({len(self.orbits)} orbits, {self.multiplicity} terms)"

    def latex(self) -> str:
        """Write the sum in LaTeX, permutations left out."""
        return " + ".join(orbit.latex() for orbit in self.orbits) or "0"

    def _repr_latex_(self) -> str:
        return f"$\\displaystyle {self.latex()}$"


def leaves_of(tree: Tree) -> Iterator[int]:
    """Go through the leaves of a tree that can be exchanged, from left to right."""
    if isinstance(tree, int):
        if tree >= 0:
            yield tree
    else:
        for child in tree:
            yield from leaves_of(child)


def shape_of_tree(tree: Tree, classes: tuple[int, ...]) -> Shape:
    """Replace each leaf by the number of its class, keeping the order of children."""
    if isinstance(tree, int):
        return classes[tree] if tree >= 0 else tree
    return tuple(shape_of_tree(child, classes) for child in tree)


def sorted_shape(shape: Shape) -> tuple[object, ...]:
    """Sort the children of a shape, so that shapes equal up to order become equal."""
    if isinstance(shape, int):
        return (0, shape)
    return (1, *sorted([sorted_shape(child) for child in shape]))


def tree_multiplicity(tree: tuple[Tree, ...], classes: tuple[int, ...]) -> int:
    """Count the ways to put alike legs on the leaves of a tree."""
    whole, alike = 1, [0] * len(classes)
    for leaf in leaves_of(tree):
        alike[classes[leaf]] += 1
        whole *= alike[classes[leaf]]
    return whole // measure_tree(tree, classes, {})[1]


def measure_tree(tree: Tree, classes: tuple[int, ...], memo: Measures) -> Measure:
    """Find the sorted shape of a tree and the order of its symmetry, group by group."""
    if isinstance(tree, int):
        return ((0, classes[tree] if tree >= 0 else tree), 1)
    known = memo.get(tree)
    if known is None:
        children = [memo.get(child) or measure_tree(child, classes, memo) for child in tree]
        children.sort()
        order = math.prod([child[1] for child in children])
        for (shape, _), run in groupby(children):
            if shape[0] or shape[1] >= 0:  # type: ignore[operator]  # a class or a mark
                order *= math.factorial(len(list(run)))
        known = memo[tree] = ((1, *[child[0] for child in children]), order)
    return known


def label_trees(shape: Shape, pools: dict[int, tuple[int, ...]]) -> Iterator[Tree]:
    """Go through the ways to put the legs of each class on the leaves of a shape, each once.

    >>> list(label_trees(((0, 0), (0, 0)), {0: (5, 6, 7, 8)}))
    [((5, 6), (7, 8)), ((5, 7), (6, 8)), ((5, 8), (6, 7))]
    """
    if isinstance(shape, int):
        yield pools[shape][0]
        return
    marks = {k: each for k, each in enumerate(shape) if isinstance(each, int) and each < 0}
    places = tuple(k for k in range(len(shape)) if k not in marks)
    yield from _label_children(shape, places, pools, marks)


def _label_children(
    shapes: tuple[Shape, ...],
    open_places: tuple[int, ...],
    pools: dict[int, tuple[int, ...]],
    done: "Mapping[int, Tree]",
) -> Iterator[Tree]:
    """Fill the child that takes the first leg of the first class left, then the others."""
    if not open_places:
        yield tuple(done[place] for place in range(len(shapes)))
        return
    lead = min(number for number, pool in pools.items() if pool)
    tried: set[tuple[object, ...]] = set()
    for place in open_places:
        key = sorted_shape(shapes[place])
        needs = Counter(leaves_of(shapes[place]))
        if key in tried or lead not in needs:
            continue
        tried.add(key)
        later = tuple(other for other in open_places if other != place)
        for taken, left in _deal(needs, pools, lead):
            for tree in label_trees(shapes[place], taken):
                yield from _label_children(shapes, later, left, {**done, place: tree})


def _deal(
    needs: Counter[int], pools: dict[int, tuple[int, ...]], lead: int
) -> Iterator[tuple[dict[int, tuple[int, ...]], dict[int, tuple[int, ...]]]]:
    """Choose the legs a child takes, the first leg of the leading class among them."""
    numbers = sorted(needs)
    choices = []
    for number in numbers:
        pool = pools[number]
        if number == lead:
            rest = combinations(pool[1:], needs[number] - 1)
            choices.append([(pool[0], *more) for more in rest])
        else:
            choices.append(list(combinations(pool, needs[number])))
    for chosen in product(*choices):
        taken = dict(zip(numbers, chosen, strict=True))
        left = {
            number: tuple(leg for leg in pool if leg not in taken.get(number, ()))
            for number, pool in pools.items()
        }
        yield taken, left
