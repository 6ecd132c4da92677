"""Functions of one field at one neuron, multiplied or added, read as one activation.

Of a product of functions of one field, means and derivatives are those of one function. Taken
factor by factor they would be of twice as many functions, and where one has a kink, of delta
functions that other factors make vanish there.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from numbers import Real

from symdlt.activations import ACTIVATIONS, Activation, activation
from symdlt.activations.activation import kinks_of
from symdlt.activations.checks import Function as NumericFunction
from symdlt.definitions import (
    MASK,
    SOFTMAXES,
    Factors,
    Function,
    Network,
    Program,
    ProgramBranch,
    program_of,
)
from symdlt.errors import ActivationError

_X = re.compile(r"\bx\b")  # the other name that texts may give their variable
Powers = tuple[tuple[str, int], ...]  # of activations, by their names


def named_activation(network: Network, name: str) -> Activation | tuple[NumericFunction, ...]:
    """The activation of a name in layers, s for that of the network."""
    return network.activation if name == "s" else activation(name)


def has_kinks(one: Activation | tuple[NumericFunction, ...]) -> bool:
    """Whether an activation has kinks or jumps, at zero or elsewhere; functions have none."""
    return isinstance(one, Activation) and bool(kinks_of(one))


def joined_program(network: Network, learning: bool = True) -> Program:
    """The fields of a network, each function of one of them read as one activation.

    Args:
        network: layers of any kind, the width of its input known.
        learning: whether learning rates are asked for.

    >>> values = {"C_b": 0.1, "C_W": 1.0}
    >>> network = Network("relu", [8], values, ["z' = b + W z", "z' = b + W sin(z) s(z)"], n_0=1)
    >>> joined_program(network, learning=False).names
    ('relu(z)*sin(z)',)
    """
    return with_joined_functions(program_of(network, learning), network)


def with_joined_functions(program: Program, network: Network) -> Program:
    """A program in which products of functions of one field are activations of their own.

    Products with a field itself, and sums, are so where a function has a kink: others have all
    means as they are. Functions that have no text, and derivatives, are left as they are.
    """

    def branch(one: ProgramBranch) -> ProgramBranch:
        return replace(one, function=_joined_sum(network, one.function))

    fields = (
        replace(one, branches=tuple(map(branch, one.branches))) if one.branches else one
        for one in program.fields
    )
    return replace(program, fields=tuple(fields))


def _joined_sum(network: Network, function: Function) -> Function:
    """A function of several terms, those that read one field together if there is a kink."""
    joined: list[tuple[float, Factors]] = []
    rest = list(function)
    for field in sorted({of for _, factors in function for of, _, _ in factors}):
        alone = [term for term in rest if _is_of(term, field)]
        names = {str(name) for _, factors in alone for _, name, _ in factors if name}
        if len(alone) > 1 and len(names) > 1 and _is_kinked(network, names):
            parts = [(f"({float(number)!r})", _powers(factors)) for number, factors in alone]
            if text := _read(network, parts):
                joined.append((1.0, ((field, text, 0),)))
                rest = [term for term in rest if not _is_of(term, field)]
    return (*joined, *((number, _joined_product(network, factors)) for number, factors in rest))


def _is_of(term: tuple[float, Factors], field: int) -> bool:
    """Whether a term is a number times activations of one field, and maybe the field itself."""
    number, factors = term
    return (
        isinstance(number, Real) and {of for of, _, _ in factors} == {field} and _is_text(factors)
    )


def _joined_product(network: Network, factors: Factors) -> Factors:
    """The factors of a term, those of one field together."""
    by_field: defaultdict[int, list[tuple[int, str | None, int]]] = defaultdict(list)
    for factor in factors:
        by_field[factor[0]].append(factor)
    found: list[tuple[int, str | None, int]] = []
    for listed in by_field.values():
        text = ""
        if len(listed) > 1 and _is_text(listed):
            names = [name for _, name, _ in listed if name is not None]
            if len(names) > 1 or _is_kinked(network, names):
                text = _read(network, [("", _powers(listed))])
        found += [(listed[0][0], text, 0)] if text else listed
    return tuple(found)


def _is_text(factors: Sequence[tuple[int, str | None, int]]) -> bool:
    """Whether some factors are activations themselves, whose product has a text, and fields."""
    apart = (MASK, *SOFTMAXES)
    named = [(name, order) for _, name, order in factors if name is not None]
    return bool(named) and all(name not in apart and order == 0 for name, order in named)


def _powers(factors: Sequence[tuple[int, str | None, int]]) -> Powers:
    return tuple(Counter(name or "" for _, name, _ in factors).items())


def _is_kinked(network: Network, names: Iterable[str]) -> bool:
    return any(has_kinks(named_activation(network, name)) for name in names)


def _read(network: Network, parts: Sequence[tuple[str, Powers]]) -> str:
    """The text of a sum of numbers times products of activations; empty if there is none."""
    texts = []
    for number, powers in parts:
        product = [number] if number else []
        for name, power in powers:
            one = named_activation(network, name) if name else "z"
            if not isinstance(one, Activation | str):
                return ""
            product.append(_text_of(one) + (f"**{power}" if power > 1 else ""))
        texts.append("*".join(product))
    return _known("+".join(texts))


def _text_of(one: Activation | str) -> str:
    if isinstance(one, str):
        return one
    if one.name in ACTIVATIONS:
        return f"{one.name}(z)"
    return f"({_X.sub('z', one.text)})"


@lru_cache(maxsize=256)
def _known(text: str) -> str:
    """A text if it can be read: products of long ones are too long to be."""
    try:
        return activation(text).name
    except ActivationError:
        return ""
