"""Orbits of coincidences: alike neurons put together, one orbit for each type of pattern."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from symdlt.algebra.averages.averages import (
    Functions,
    NeuronSplit,
    average_term,
    bracket_like,
    bracket_of,
    split_neurons,
)
from symdlt.algebra.averages.orbits import (
    Measures,
    Orbit,
    Tree,
    leaves_of,
    measure_tree,
    shape_of_tree,
    sorted_shape,
)
from symdlt.algebra.averages.weight_orbits import Marks, Owners, linked_groups, mark, refuse
from symdlt.algebra.factors import Factor, Tensor
from symdlt.algebra.heads import Head
from symdlt.algebra.index import Index
from symdlt.algebra.polynomial import Polynomial, falling_factorial
from symdlt.algebra.term import Term, size_polynomial, trusted_term
from symdlt.combinatorics import Counts, deal_places, partition_types


@dataclass(frozen=True, slots=True)
class _Item:
    """A neuron to be averaged over: its functions and the part of the tree it hangs on."""

    neuron: Index
    functions: Functions
    node: "Tree | None"


def neuron_orbits(orbit: Orbit, head: Head) -> Iterator[Orbit]:
    """Split the neurons of an orbit by coincidence, one orbit for each type of pattern."""
    term = orbit.representative
    split = split_neurons(term, head)
    if not orbit.tree:
        yield from (Orbit(piece, (), (), ()) for piece in average_term(term, head))
        return
    if split.tied:
        raise refuse(term, f"the neuron {split.tied[0][0].name} is seen outside its functions")
    if not split.alone:
        yield orbit
        return
    owners = {index: place for place, bundle in enumerate(orbit.legs) for index in bundle}
    items = _find_items(orbit, split, owners)
    keys = [_item_key(orbit, item, owners) for item in items]
    kinds = sorted(set(keys))
    classes = tuple(kinds.index(key) for key in keys)
    gone = {item.neuron for item in items}
    sums = tuple(index for index in term.sums if index not in gone)
    base = trusted_term(sums, term.coefficient, split.rest)
    tied = _tied_nodes(orbit, base, owners)
    width = size_polynomial(head.slots[0].size)
    yield from _split_types(orbit, base, items, classes, tied, width, owners)


def _split_types(
    orbit: Orbit,
    base: Term,
    items: list[_Item],
    classes: tuple[int, ...],
    tied: set[Tree],
    width: Polynomial,
    owners: Owners,
) -> Iterator[Orbit]:
    visible = any(item.node is not None for item in items)
    marks = Marks(-min([0, *marks_in(orbit.tree)]))
    alone = {
        item.neuron: marks.number(number)
        for item, number in zip(items, classes, strict=True)
        if item.node is None
    }

    def released(node: tuple[Tree, ...]) -> Iterator[Tree]:
        """Go through what is left of a group: the smaller ones that the other factors tie."""
        places = tuple(child for child in node if isinstance(child, int) and child >= 0)
        for members in linked_groups(base, owners, places):
            yield mark(members, marks.of_group(base, owners, members))
        yield from (child for child in node if not isinstance(child, int))

    known: dict[Counts, Tensor | None] = {}
    scales: dict[int, Polynomial] = {}
    memo: Measures = {}
    before = orbit.multiplicity
    whole = before * measure_tree(orbit.tree, orbit.classes, memo)[1]
    counts = tuple(classes.count(number) for number in range(max(classes) + 1))
    for blocks, ways in partition_types(counts):
        groups = [[items[k] for k in block] for block in deal_places(blocks, classes)]
        brackets = _brackets(blocks, groups, known)
        if brackets is None:
            continue
        tree = _regroup(orbit, groups, tied, alone, released) if visible else orbit.tree
        after = whole // measure_tree(tree, orbit.classes, memo)[1]
        if len(groups) not in scales:
            scales[len(groups)] = base.coefficient * falling_factorial(width, len(groups))
        scale = scales[len(groups)] * (ways * before // after)
        piece = trusted_term(base.sums, scale, (*base.factors, *brackets))
        yield Orbit(piece, orbit.legs, orbit.classes, tree)


def _brackets(
    blocks: tuple[Counts, ...], groups: list[list[_Item]], known: dict[Counts, Tensor | None]
) -> list[Factor] | None:
    """Average each group; None if one of the averages vanishes."""
    brackets: list[Factor] = []
    for block, group in zip(blocks, groups, strict=True):
        functions = tuple([function for item in group for function in item.functions])
        if block not in known:
            known[block] = bracket_of(functions)
        alike = known[block]
        if alike is None:
            return None
        brackets.append(bracket_like(alike, functions))
    return brackets


def _find_items(orbit: Orbit, split: NeuronSplit, owners: Owners) -> list[_Item]:
    node_of = {leaf: node for node in orbit.tree for leaf in leaves_of(node)}
    term = orbit.representative
    items = []
    busy: set[Tree] = set()
    for neuron, functions in split.alone:
        leaves = {owners[i] for _, samples in functions for i in samples if i in owners}
        nodes = {node_of[leaf] for leaf in leaves}
        if len(nodes) > 1 or nodes & busy:
            raise refuse(term, f"the neuron {neuron.name} does not belong to one group of legs")
        node = next(iter(nodes), None)
        if node is not None:
            busy.add(node)
            if leaves != set(leaves_of(node)):
                raise refuse(term, f"the neuron {neuron.name} sees a part of a group of legs")
        items.append(_Item(neuron, functions, node))
    return items


def _item_key(orbit: Orbit, item: _Item, owners: Owners) -> tuple[object, ...]:
    functions = sorted(
        (
            head.sort_key,
            tuple(
                (0, orbit.classes[owners[i]], orbit.legs[owners[i]].index(i))
                if i in owners
                else (1, i.sort_key, 0)
                for i in samples
            ),
        )
        for head, samples in item.functions
    )
    if item.node is None:
        return ((), tuple(functions))
    plain, marked = (
        sorted_shape(shape_of_tree(tree, orbit.classes))
        for tree in (without_marks(item.node), item.node)
    )
    return (plain, tuple(functions), marked)


def _tied_nodes(orbit: Orbit, base: Term, owners: Owners) -> set[Tree]:
    """Find the groups of legs that stay together by the factors that are not averaged."""
    places = tuple(place for place, bundle in enumerate(orbit.legs) if bundle)
    group_of = {
        place: number
        for number, group in enumerate(linked_groups(base, owners, places))
        for place in group
    }
    return {
        node
        for node in orbit.tree
        if not isinstance(node, int) and len({group_of[leaf] for leaf in leaves_of(node)}) == 1
    }


def without_marks(tree: Tree) -> Tree:
    """Leave the marks of a tree out."""
    if isinstance(tree, int):
        return tree
    children = [without_marks(child) for child in tree if child not in set(marks_in(child))]
    return children[0] if len(children) == 1 else tuple(children)


def marks_in(tree: Tree) -> Iterator[int]:
    """Go through the marks of a tree."""
    if isinstance(tree, int):
        yield from [tree] if tree < 0 else []
    else:
        for child in tree:
            yield from marks_in(child)


def _regroup(
    orbit: Orbit,
    groups: list[list[_Item]],
    tied: set[Tree],
    alone: dict[Index, int],
    released: Callable[[tuple[Tree, ...]], Iterator[Tree]],
) -> tuple[Tree, ...]:
    """Put the groups of legs whose neurons coincide into one larger group.

    Neurons without legs that coincide with them leave a mark there.
    """
    tree: list[Tree] = []
    used: set[Tree] = set()
    for group in groups:
        nodes = [item.node for item in group if item.node is not None]
        used.update(nodes)
        children: list[Tree] = []
        for node in nodes:
            children.extend([node] if isinstance(node, int) or node in tied else released(node))
        if nodes:
            children.extend(alone[item.neuron] for item in group if item.node is None)
        tree.extend([tuple(children)] if len(children) > 1 else children)
    tree.extend(node for node in orbit.tree if node not in used)
    return tuple(tree)
