"""Indices: a name, a species and the size of the range it runs over."""

from dataclasses import dataclass, field
from enum import StrEnum

from symdlt.algebra.names import (
    check_name,
    check_unreserved,
    is_symbol,
    natural_key,
    refusal,
    split_names,
)
from symdlt.errors import IndexStructureError

Size = int | str | None


class Species(StrEnum):
    """What an index counts; indices of different species are never contracted."""

    NEURON = "neuron"
    SAMPLE = "sample"
    PARAMETER = "parameter"


@dataclass(frozen=True, slots=True)
class Index:
    """An index by name; two indices are the same when name, species and size all agree.

    Its `sort_key` orders by species, then by name with its numbers read as numbers. An index with
    a `number` is fixed to that value, counted from 1; its name is the number.

    Raises:
        IndexStructureError: the name is reserved or malformed, or the size is not a width.

    >>> Index("i", Species.NEURON, "n_1")
    Index('i', neuron, n_1)
    """

    name: str
    species: Species
    size: Size = None
    # Its name says the number too, so comparing goes without it.
    number: int | None = field(default=None, compare=False)
    sort_key: tuple[object, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.number is None:
            check_name(self.name, "an index")
        check_species(self.species, f"the index {self.name!r}")
        check_size(self.size, f"the index {self.name!r}")
        if self.number is not None:
            check_number(self)
        check_unreserved(self.name, "index", f"a {self.species} index of size {self.size}")
        if self.name == self.size:
            raise IndexStructureError(
                f"The name {self.name!r} stands for an index and for the size of its range. "
                f"Both were given to one {self.species} index. "
                "Choose another name for one of them."
            )
        key = (self.species.value, natural_key(self.name), str(self.size))
        object.__setattr__(self, "sort_key", key)

    def __hash__(self) -> int:
        return hash(self.name)

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        number = "" if self.number is None else f", number={self.number}"
        return f"Index({self.name!r}, {self.species}, {self.size}{number})"


def fixed(number: int, species: Species, size: Size) -> Index:
    """Make the index that has one value of its range, counted from 1."""
    return Index(str(number), species, size, number)


def as_index(value: Index | int, species: Species, size: Size) -> Index:
    """Read a number as the index that is fixed to it."""
    return fixed(value, species, size) if isinstance(value, int) else value


def check_number(index: Index) -> None:
    """Refuse a number that is not one of the range, as far as its size is known."""
    number, size = index.number, index.size
    if (
        not isinstance(number, int)
        or isinstance(number, bool)
        or number < 1
        or (isinstance(size, int) and number > size)
        or index.name != str(number)
    ):
        reach = "from 1 up" if size is None else f"from 1 to {size}"
        raise IndexStructureError(
            f"An index cannot be fixed to {number!r}. "
            f"It is a {index.species} index, whose values run {reach}. "
            "Give one of them, or declare a larger range."
        )


def check_species(species: object, place: str) -> None:
    """Refuse what is not a species."""
    if not isinstance(species, Species):
        raise refusal(species, "a species", place, "Give Species.NEURON, SAMPLE or PARAMETER.")


def check_size(size: object, place: str) -> None:
    """Refuse a size that is neither a positive integer, nor a symbol, nor left open."""
    whole = isinstance(size, int) and not isinstance(size, bool) and size > 0
    if not (size is None or whole or is_symbol(size)):
        raise IndexStructureError(
            f"The size {size!r} is not a width. "
            f"It was given to {place}. "
            "A size is a positive integer or the name of a width such as 'n_1'."
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
