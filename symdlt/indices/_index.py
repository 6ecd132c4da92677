"""Indices: a name, a species and the size of the range it runs over."""

import re
from dataclasses import dataclass, field
from enum import StrEnum

from symdlt.errors import IndexStructureError

Size = int | str | None

_NAME = re.compile(r"[^\W\d_][^\W_]*(_[^\W_]+)*'*")
_RESERVED = re.compile(r"n|n_.*|n\d+|N|C_b|C_W|λ_.*|lambda_.*")


class Species(StrEnum):
    """What an index counts; indices of different species are never contracted."""

    NEURON = "neuron"
    SAMPLE = "sample"
    PARAMETER = "parameter"


@dataclass(frozen=True, slots=True)
class Index:
    """An index by name; two indices are the same when name, species and size all agree.

    Its `sort_key` orders by species, then by name with its numbers read as numbers.

    Raises:
        IndexStructureError: the name is reserved or malformed, or the size is not a width.

    >>> Index("i", Species.NEURON, "n_1")
    Index('i', neuron, n_1)
    """

    name: str
    species: Species
    size: Size = None
    sort_key: tuple[object, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_name(self.name, "an index")
        if _RESERVED.fullmatch(self.name) or self.name == self.size:
            raise IndexStructureError(
                f"The index name {self.name!r} is reserved for a quantity of the theory. "
                f"It was given to a {self.species} index of size {self.size}. "
                "Choose another name, such as 'i', 'j1' or 'alpha'."
            )
        check_size(self.size, self.name)
        key = (self.species.value, natural_key(self.name), str(self.size))
        object.__setattr__(self, "sort_key", key)

    def __hash__(self) -> int:
        return hash(self.name)

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"Index({self.name!r}, {self.species}, {self.size})"


def check_name(name: str, what: str) -> None:
    """Refuse a name that could not be printed or read back."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise IndexStructureError(
            f"{name!r} is not a name. "
            f"It was given to {what}. "
            "A name is a letter followed by letters and digits, with '_' between its parts."
        )


def check_size(size: Size, name: str) -> None:
    """Refuse a size that is neither a positive integer, nor a symbol, nor left open."""
    fits = size is None or (isinstance(size, str) and bool(size.strip()))
    fits = fits or (isinstance(size, int) and not isinstance(size, bool) and size > 0)
    if not fits:
        raise IndexStructureError(
            f"The size {size!r} is not a width. "
            f"It was given to the index {name!r}. "
            "A size is a positive integer or the name of a width such as 'n_1'."
        )


def natural_key(text: str) -> tuple[tuple[str, int], ...]:
    """Split a name so that i2 comes before i10.

    >>> natural_key("i2") < natural_key("i10")
    True
    """
    return tuple(
        (word, int(number) if number else -1)
        for word, number in re.findall(r"([^0-9]*)([0-9]*)", text)[:-1]
    )


def neuron(name: str, size: int | str) -> Index:
    """Make one neuron index that runs over `size` neurons.

    >>> neuron("i", 3).size
    3
    """
    return Index(name, Species.NEURON, size)


def neurons(names: str, size: int | str) -> tuple[Index, ...]:
    """Make neuron indices from names separated by spaces or commas.

    >>> [index.name for index in neurons("i j, k", "n_1")]
    ['i', 'j', 'k']
    """
    return tuple(neuron(name, size) for name in split_names(names))


def sample(name: str, size: Size = None) -> Index:
    """Make one sample index; it needs a size only if it is to be summed.

    >>> sample("δ").species.value
    'sample'
    """
    return Index(name, Species.SAMPLE, size)


def samples(names: str, size: Size = None) -> tuple[Index, ...]:
    """Make sample indices from names separated by spaces or commas.

    >>> [index.name for index in samples("α β")]
    ['α', 'β']
    """
    return tuple(sample(name, size) for name in split_names(names))


def split_names(names: str) -> list[str]:
    """Cut a list of names at spaces and commas."""
    return names.replace(",", " ").split()
