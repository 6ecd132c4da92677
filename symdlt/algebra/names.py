"""Names: what may be called what, so that all of it can be printed, typeset and told apart."""

import re

from symdlt.errors import IndexStructureError

_CHARACTERS = "αβγδεζηθικλμνξπρστυφχψωΓΔΘΛΞΠΣΥΦΨΩℓ"
_COMMANDS = (
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau "
    "upsilon phi chi psi omega Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega ell"
)
GREEK = dict(zip(_CHARACTERS, _COMMANDS.split(), strict=True))

LETTER = f"[A-Za-z{_CHARACTERS}]"
_WORD = f"[A-Za-z{_CHARACTERS}0-9]+"
_STEM = f"{LETTER}(?:{_WORD})?(?:_{_WORD})*"
_NAME = re.compile(f"{_STEM}'*")
_SYMBOL = re.compile(rf"{_STEM}(?:_\{{(?:{_WORD}|{LETTER}+[+-][0-9]+)\}})?'*")
_RESERVED = re.compile(r"(n|n_.*|n\d+|N|C_b|C_W|λ_.*|lambda_.*)'*")


def refusal(value: object, wanted: str, place: str, advice: str) -> IndexStructureError:
    """Say that a value is not what is wanted, where it was given, and what to give instead."""
    return IndexStructureError(f"{value!r} is not {wanted}. It was given to {place}. {advice}")


def check_name(name: object, place: str) -> None:
    """Refuse a name that could not be printed or read back."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise refusal(
            name,
            "a name",
            place,
            "A name is a Latin or Greek letter followed by letters and digits, with '_' between "
            "its parts.",
        )


def check_unreserved(name: str, kind: str, place: str) -> None:
    """Refuse a name that stands for a width or a hyperparameter."""
    if _RESERVED.fullmatch(name):
        raise IndexStructureError(
            f"The {kind} name {name!r} is reserved for a quantity of the theory. "
            f"It was given to {place}. "
            "Choose another name, which is neither a width such as 'n_1' nor C_b, C_W or λ_…."
        )


def check_symbol(name: object, place: str) -> None:
    """Refuse the name of a width or a constant that could not be printed or read back."""
    if not is_symbol(name):
        raise refusal(
            name,
            "a symbol",
            place,
            "Use a name such as 'C_W', 'n_1', 'n_{ℓ-1}' or 'λ_b', without spaces or operators.",
        )


def is_symbol(name: object) -> bool:
    """Tell whether a value can name a width or a constant."""
    return isinstance(name, str) and bool(_SYMBOL.fullmatch(name))


def split_names(names: object) -> list[str]:
    """Cut a list of names at spaces and commas."""
    if not isinstance(names, str):
        raise refusal(
            names, "a string of names", "a function that makes several", "Write them as 'i j k'."
        )
    return names.replace(",", " ").split()


def natural_key(text: str) -> tuple[tuple[str, int], ...]:
    """Split a name so that i2 comes before i10.

    >>> natural_key("i2") < natural_key("i10")
    True
    """
    return tuple(
        (word, int(number) if number else -1)
        for word, number in re.findall(r"([^0-9]*)([0-9]*)", text)[:-1]
    )
