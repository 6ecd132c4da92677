"""From recursions to the kernel IR: means collected once, common factors named."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from symdlt.codegen._centring import Means, centred
from symdlt.codegen._equations import equation, mean_of, taylor_coefficient, tensor_name
from symdlt.codegen._factoring import Monomial, Polynomial, factored, monomial
from symdlt.codegen._ir import (
    Expression,
    KernelModule,
    Mean,
    SharedFactor,
    TensorFunction,
)
from symdlt.errors import KernelError, require
from symdlt.recursions import Recursion, RecursionSystem, Term

METRIC = "G"
HYPERPARAMETERS = ("C_b", "C_W", "lambda_b", "lambda_W")
SHORT_NAMES = {
    ("C_W", Mean((1, 1))): "chi_perp",
    ("C_W", Mean((0, 0), 2)): "chi_parallel",
}
PREFIXES = {"C_W": "chi_", "lambda_W": "lambda_", "": ""}

_TENSOR = re.compile(r"[A-Z]|[a-z]_\d+|x\d.*")

Scaled = tuple[Mean, Fraction]


def lower(system: RecursionSystem) -> KernelModule:
    """The kernel that computes all tensors of a closed single-input system.

    Raises:
        KernelError: if the system is not closed, not for a single input, or a recursion is not
            linear in its own tensor.
    """
    advice = "Give what `derive_system` returns."
    require(system, RecursionSystem, "a system of recursions", advice)
    check_system(system)
    collected = [(r, local_terms(r)) for r in system if r.name != METRIC]
    means = [mean for _, terms in collected for term in terms for mean in term.means]
    known = representatives([*means, *(mean for _, mean in SHORT_NAMES)])
    shared: dict[str, SharedFactor] = {}
    functions = [tensor_function(r, terms, known, shared) for r, terms in collected]
    factors = tuple(sorted(shared.values(), key=lambda f: (len(f.mean.orders), f.mean, f.name)))
    metric = system[METRIC]
    direct = {mean_of(b)[0] for term in metric.terms for b in term.brackets}
    plain = {mean for factor in factors for mean, _ in factor.mean.plain} | direct
    return KernelModule(
        tuple(sorted(plain, key=lambda mean: (len(mean.orders), mean))),
        factors,
        factored(metric_polynomial(metric), _rank),
        equation(metric),
        tuple(functions),
        tuple((r.name, first_layer(r)) for r in system if r.first_layer),
        used_hyperparameters(system),
        max((order for mean in plain for order in mean.orders), default=0),
    )


def variable(name: str) -> str:
    """The identifier of a tensor.

    >>> variable("V"), variable("G.1"), variable("X6_01_24")
    ('V', 'g_1', 'x6_01_24')
    """
    return name if len(name) == 1 else name.lower().replace(".", "_")


def check_system(system: RecursionSystem) -> None:
    """Refuse what no single-input kernel can compute."""
    names = set(system.names)
    for recursion in system:
        if not recursion.single_input:
            raise KernelError(
                f"{recursion!r} has more than one input. Single-input kernels are generated from "
                'single-input recursions. Derive the system with inputs="one".'
            )
        needs = {METRIC} | {tensor_name(t) for term in recursion.terms for t in term.tensors}
        if not needs <= names:
            raise KernelError(
                f"The system is not closed: it lacks {' '.join(sorted(needs - names))}. "
                f"{recursion!r} needs it. Use `derive_system`, which adds what is missing."
            )
        for term in recursion.terms:
            _check_term(recursion, term)
    if METRIC not in names:
        raise KernelError(
            f"The system lacks the kernel {METRIC}. It has {len(names)} recursions. "
            "Use `derive_system`, which adds what is missing."
        )


def _check_term(recursion: Recursion, term: Term) -> None:
    own = sum(tensor_name(t) == recursion.name for t in term.tensors)
    fluctuating = any(t.correlator.pairs > 1 or t.piece for t in term.tensors)
    if own > 1 or (term.width_ratio and not fluctuating):
        raise KernelError(
            f"The term {term!r} is not linear in {recursion.name}, or has a width ratio without "
            f"a tensor that vanishes at layer 1. It stands in {recursion!r}. "
            "Use recursions as `derive` returns them."
        )


def representatives(means: Iterable[Mean]) -> dict[Mean, Scaled]:
    """For each mean the first one proportional to it, and the proportion.

    >>> representatives([Mean((0, 1), 1), Mean((0, 0), 2)])[Mean((0, 1), 1)][0]
    Mean(d2<s s>)
    """
    first: dict[tuple[Scaled, ...], Scaled] = {}
    found: dict[Mean, Scaled] = {}
    for mean in sorted(set(means), key=lambda m: (len(m.plain), m)):
        leading = mean.plain[0][1]
        shape = tuple((part, number / leading) for part, number in mean.plain)
        if len(shape) == 1:
            found[mean] = (shape[0][0], leading)
            continue
        chosen, scale = first.setdefault(shape, (mean, leading))
        found[mean] = (chosen, leading / scale)
    return found


def metric_polynomial(recursion: Recursion) -> Polynomial:
    """The recursion of the kernel K, in the bare means and the hyperparameters."""
    terms: dict[Monomial, Fraction] = {}
    for term in recursion.terms:
        means = [mean_of(b)[0] for b in term.brackets]
        if term.tensors or any(mean.derivatives for mean in means):
            raise KernelError(
                f"The term {term!r} needs a tensor. It stands in the recursion of the kernel. "
                "Use recursions as `derive` returns them."
            )
        powers = Counter(_hyperparameters(term))
        powers.update(mean.name for mean in means)
        key = monomial(powers)
        terms[key] = terms.get(key, Fraction(0)) + term.coefficient
    return terms


@dataclass(frozen=True, slots=True)
class LocalTerm:
    """A term with its brackets as means: powers of the hyperparameters, r, tensors, number."""

    hyperparameters: tuple[int, ...]
    width_ratio: int
    tensors: tuple[str, ...]
    means: Means
    coefficient: Fraction


def local_terms(recursion: Recursion) -> tuple[LocalTerm, ...]:
    """The terms of a recursion, with central moments where means would nearly cancel."""
    groups: dict[tuple[tuple[int, ...], int, tuple[str, ...]], dict[Means, Fraction]] = {}
    for term in recursion.terms:
        tensors = tuple(sorted(variable(tensor_name(t)) for t in term.tensors))
        rest = (term.hyperparameters.powers, term.width_ratio, tensors)
        means = tuple(sorted(mean_of(bracket)[0] for bracket in term.brackets))
        group = groups.setdefault(rest, {})
        group[means] = group.get(means, Fraction(0)) + taylor_coefficient(term)
    return tuple(
        LocalTerm(*rest, means, number)
        for rest, group in groups.items()
        for means, number in centred(group).items()
    )


def tensor_function(
    recursion: Recursion,
    terms: tuple[LocalTerm, ...],
    known: dict[Mean, Scaled],
    shared: dict[str, SharedFactor],
) -> TensorFunction:
    """One recursion, split into gain and source; the intermediates it uses go into `shared`."""
    own = variable(recursion.name)
    gain: dict[Monomial, Fraction] = {}
    source: dict[Monomial, Fraction] = {}
    for term in terms:
        powers, number = _names(term, known, shared)
        part = gain if powers[own] else source
        powers[own] = 0
        key = monomial(powers)
        part[key] = part.get(key, Fraction(0)) + number
    return TensorFunction(
        recursion.name, own, equation(recursion), factored(gain, _rank), factored(source, _rank)
    )


def _names(
    term: LocalTerm, known: dict[Mean, Scaled], shared: dict[str, SharedFactor]
) -> tuple[Counter[str], Fraction]:
    """The factors of a term by name: a pair of σ's takes its C_W or λ_W with it."""
    number = term.coefficient
    left = Counter(dict(zip(HYPERPARAMETERS, term.hyperparameters, strict=True)))
    powers: Counter[str] = Counter({"r": term.width_ratio})
    for mean in term.means:
        chosen, scale = known[mean]
        number *= scale
        taken = ""
        if len(mean.orders) == 2:
            taken = next(name for name in ("lambda_W", "C_W", "") if left[name] or not name)
            left[taken] -= bool(taken)
        name = SHORT_NAMES.get((taken, chosen), PREFIXES[taken] + chosen.name)
        shared[name] = SharedFactor(name, taken, chosen)
        powers[name] += 1
    powers.update(left)
    powers.update(term.tensors)
    return powers, number


def first_layer(recursion: Recursion) -> Expression:
    """The value of a tensor at layer 1."""
    terms: dict[Monomial, Fraction] = {}
    for term in recursion.first_layer:
        powers = Counter(_hyperparameters(term))
        powers["overlap"] += bool(term.overlap)
        key = monomial(powers)
        terms[key] = terms.get(key, Fraction(0)) + term.coefficient
    return factored(terms, _rank)


def used_hyperparameters(system: RecursionSystem) -> tuple[str, ...]:
    """The hyperparameters that occur anywhere in the system."""
    terms = [t for r in system for t in (*r.terms, *r.first_layer)]
    found = {name for term in terms for name, power in _hyperparameters(term).items() if power}
    return tuple(name for name in HYPERPARAMETERS if name in found)


def _hyperparameters(term: Term) -> dict[str, int]:
    return dict(zip(HYPERPARAMETERS, term.hyperparameters.powers, strict=True))


def _rank(name: str) -> tuple[int, str]:
    """Within a product: width ratio, hyperparameters, means and factors, tensors."""
    if name == "r":
        return 0, name
    if name in HYPERPARAMETERS:
        return 1, name
    return (3 if _TENSOR.fullmatch(name) else 2), name
