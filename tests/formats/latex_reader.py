"""Reads printed recursions back: LaTeX in the default conventions, many inputs, as terms."""

import re
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

from symdlt.definitions import tensor
from symdlt.derivation import (
    Bracket,
    Hyperparameters,
    Recursion,
    RecursionTerm,
    TensorFactor,
    to_derivative_form,
)

_SAMPLE = r"\\delta_\{(\d+)\}"
_POWER = r"(?:\^\{(?P<power>\d+)\})?"
_KINDS = {
    "fraction": r"\\tfrac\{(?P<over>\d+)\}\{(?P<under>\d+)\}",
    "width": r"\\left\(\\frac\{n_\{\\ell\}\}\{n_\{\\ell-1\}\}\\right\)" + _POWER,
    "hyper": r"(?:\\left\()?(?P<name>C_b|C_W|\\lambda_b|\\lambda_W)\^\{\(\\ell\+1\)\}(?:\\right\))?"
    + _POWER,
    "sum": r"\\sum_\{[^ ]*\\in\\mathcal\{D\}\}",
    "bracket": r"\\left\\langle (?P<inside>.*?)\\right\\rangle_\{K\^\{\(\\ell\)\}\}" + _POWER,
    "inverse": r"K\^\{\\delta_\{(?P<z>\d+)\}\\delta_\{(?P<t>\d+)\}\}_\{\(\\ell\)\}",
    "tensor": r"(?:\\left\()?(?P<letter>\\Theta|[A-Z])_\{(?P<samples>(?:[()]|\\delta_\{\d+\})+)\}"
    r"\^\{(?:\[(?P<edges>[\w,]+)\])?(?:\\\{(?P<piece>\d+)\\\})?\(\\ell\)\}(?:\\right\))?" + _POWER,
    "number": r"\d+",
    "open": r"\\Bigl\[",
    "close": r"\\Bigr\]",
    "sign": r"[+-]",
    "layout": r"\\times|\\,|\\q*quad|&|\\\\|\s+",
}
_TOKENS = [(kind, re.compile(pattern, re.DOTALL)) for kind, pattern in _KINDS.items()]


def read_back(text: str, printed: Recursion) -> Recursion:
    """The recursion that stands in the text, in derivative form."""
    body = text.removeprefix("\\begin{align*}\n").removesuffix("\n\\end{align*}").split("=", 1)[1]
    terms = tuple(map(_term, _products(list(_tokens(body)))))
    return to_derivative_form(replace(printed, form="z", terms=terms))


def _tokens(text: str) -> Iterator[re.Match[str]]:
    position = 0
    while position < len(text):
        found = next((m for _, p in _TOKENS if (m := p.match(text, position))), None)
        assert found, f"cannot read {text[position : position + 60]!r}"
        if found.re is not _TOKENS[-1][1]:
            yield found
        position = found.end()


def _kind(token: re.Match[str]) -> str:
    return next(kind for kind, pattern in _TOKENS if pattern is token.re)


def _products(tokens: list[re.Match[str]]) -> Iterator[tuple[int, list[re.Match[str]]]]:
    """Every product with its sign, the brackets multiplied out."""
    outer, inner, front, factors, inside = 1, 1, [], [], False
    for token in tokens:
        kind = _kind(token)
        if kind == "sign":
            if factors:
                yield outer * inner, front + factors
            factors, inner = [], 1
            sign = -1 if token[0] == "-" else 1
            outer, inner = (outer, sign) if inside else (sign, 1)
            front = front if inside else []
        elif kind == "open":
            front, factors, inside = factors, [], True
        elif kind == "close":
            yield outer * inner, front + factors
            front, factors, inside = [], [], False
        else:
            factors.append(token)
    if factors:
        yield outer * inner, front + factors


def _term(product: tuple[int, list[re.Match[str]]]) -> RecursionTerm:
    coefficient, tokens = Fraction(product[0]), product[1]
    powers = dict.fromkeys(("C_b", "C_W", r"\lambda_b", r"\lambda_W"), 0)
    ratio, brackets, tensors = 0, [], []
    pairs = [(int(t["z"]), int(t["t"])) for t in tokens if _kind(t) == "inverse"]
    dummy = {label: -1 - k for k, pair in enumerate(pairs) for label in pair}
    for token in tokens:
        kind, groups = _kind(token), token.groupdict()
        times = int(groups.get("power") or 1)
        if kind == "number":
            coefficient *= int(token[0])
        elif kind == "fraction":
            coefficient *= Fraction(int(token["over"]), int(token["under"]))
        elif kind == "width":
            ratio += times
        elif kind == "hyper":
            powers[token["name"]] += times
        elif kind == "bracket":
            brackets += [_bracket(token["inside"], dummy)] * times
        elif kind == "tensor":
            tensors += [_tensor(token, dummy)] * times
    assert bool(dummy) == any(_kind(token) == "sum" for token in tokens)
    return RecursionTerm(
        coefficient, Hyperparameters(tuple(powers.values())), ratio, tuple(brackets), tuple(tensors)
    )


def _bracket(inside: str, dummy: dict[int, int]) -> Bracket:
    zs, _, sigmas = inside.partition(r"\sigma")
    pair = re.fullmatch(r"\\bigl\((.*)-K_\{(.*)\}\^\{\(\\ell\)\}\\bigr\)", zs)
    if pair:
        assert re.findall(_SAMPLE, pair[1]) == re.findall(_SAMPLE, pair[2])
        zs = pair[1]
    inserted = tuple(dummy[int(label)] for label in re.findall(_SAMPLE, zs))
    assert (len(inserted) == 2) == bool(pair)
    assert (len(inserted) > 2) == zs.startswith("{:}")
    factors = re.findall(
        r"\\sigma('*)(?:\^\{\((\d+)\)\})?_\{" + _SAMPLE + r"\}", r"\sigma" + sigmas
    )
    assert len(factors) == inside.count(r"\sigma")
    orders = sorted((int(label), int(order or len(primes))) for primes, order, label in factors)
    return Bracket(tuple(orders), inserted)


def _tensor(token: re.Match[str], dummy: dict[int, int]) -> TensorFactor:
    labels = [int(label) for label in re.findall(_SAMPLE, token["samples"])]
    letter = {"K": "G", r"\Theta": "H"}.get(token["letter"], token["letter"])
    if letter == "X":
        letter = "_".join([f"X{len(labels)}", *(token["edges"] or "").split(",")]).rstrip("_")
    samples = tuple(dummy.get(label, label) for label in labels)
    return TensorFactor(tensor(letter), int(token["piece"] or 0), samples)
