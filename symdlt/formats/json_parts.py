"""Parts of JSON documents: diagrams, and values that are read as what they should be."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any, TypeVar

from symdlt.derivation import Diagram

T = TypeVar("T")


def diagram_dict(diagram: Diagram) -> dict[str, Any]:
    """A diagram as it is written."""
    term = diagram.contraction.term
    return {
        "pairs": list(diagram.contraction.kinds),
        "blocks": [[[list(e) for e in block] for block in parts] for parts in term.blocks],
        "groups": [list(group) for group in diagram.groups],
        "merges": [list(merge) for merge in diagram.merges],
        "cumulants": [
            {
                "trees": list(c.trees),
                "matched": [list(pair) for pair in c.matched],
                "joined": list(c.joined),
                "inserted": list(c.inserted),
                "piece": c.piece,
            }
            for c in diagram.cumulants
        ],
    }


def fingerprint_of(origin: object) -> str:
    """What two equal diagrams have in common."""
    return json.dumps(origin, sort_keys=True)


def origins_of(listed: object, known: dict[str, Diagram]) -> tuple[Diagram, ...]:
    """The diagrams that a provenance names, out of those that there are."""
    fingerprints = [fingerprint_of(origin) for origin in of_kind(list, listed)]
    if not known.keys() >= {*fingerprints}:
        raise ValueError("a provenance names a diagram that the tensor does not have")
    return tuple(known[fingerprint] for fingerprint in fingerprints)


def fraction(text: str) -> Fraction:
    """A fraction p/q."""
    numerator, slash, denominator = text.partition("/")
    if not slash or not (numerator.lstrip("-").isdecimal() and denominator.isdecimal()):
        raise ValueError(f"{text[:40]!r} is not a fraction p/q")
    if int(denominator) == 0:
        raise ValueError("a coefficient has the denominator 0")
    return Fraction(int(numerator), int(denominator))


def of_kind(kind: type[T], value: object) -> T:
    """A value of one type, and of no other."""
    if type(value) is not kind:
        raise TypeError(f"{str(value)[:40]!r} should be of type {kind.__name__}")
    return value


def count(value: object) -> int:
    """A whole number that is not negative."""
    number = of_kind(int, value)
    if number < 0:
        raise ValueError(f"{number} should not be negative")
    return number


def integers(value: object) -> tuple[int, ...]:
    """A list of whole numbers."""
    return tuple(of_kind(int, number) for number in of_kind(list, value))


def pairs(value: object) -> tuple[tuple[int, int], ...]:
    """A list of pairs of whole numbers."""
    pairs = tuple(integers(pair) for pair in of_kind(list, value))
    if any(len(pair) != 2 for pair in pairs):
        raise ValueError("a pair has not two members")
    return tuple((pair[0], pair[1]) for pair in pairs)
