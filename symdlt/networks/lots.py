"""Which samples go into one task, so that all pairs are had and few of them twice.

A task takes the kernels of some chunks of samples with each other, and each chunk with itself
comes with every task it is in. So few tasks should share a chunk, and each pair of chunks should
be in one task alone. Finite projective planes do that: of $q^2 + q + 1$ chunks, as many tasks have
$q + 1$ each, and every two chunks are together in one (O. Veblen and W. H. Bussey 1906). All tasks
together then take $1 + 1/q$ times the pairs that there are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise, product
from math import isqrt

from symdlt.errors import KernelError

# A bound: ten thousand tasks of a hundred chunks each.
LARGEST_ORDER = 101


@dataclass(frozen=True, slots=True, eq=False)
class Lot:
    """Chunks of samples whose kernels with each other are one task.

    Attributes:
        number: of the task.
        chunks: the first sample of each chunk, and that after its last.
        own: those of them whose kernel with itself this task writes.
    """

    number: int
    chunks: tuple[tuple[int, int], ...]
    own: frozenset[tuple[int, int]]

    @property
    def samples(self) -> list[int]:
        """The samples of all chunks, in their order."""
        return [sample for chunk in self.chunks for sample in range(*chunk)]

    @property
    def size(self) -> int:
        """How many samples it has."""
        return sum(end - start for start, end in self.chunks)


def lots(samples: int, most: int) -> Iterator[Lot]:
    """The tasks for some samples, of which each has at most so many.

    >>> [lot.chunks for lot in lots(4, 10)]
    [((0, 4),)]
    >>> [[start for start, _ in lot.chunks] for lot in lots(7, 3)][:3]
    [[4, 5, 6], [1, 3, 4], [2, 3, 6]]
    """
    chunks, members = [(0, samples)], [[0]]
    if samples > most:
        order = next((q for q in ORDERS if _largest(samples, q) <= most), 0)
        if not order:
            raise KernelError(
                f"So little memory has room for {most} of {samples} samples at a time. "
                "Give more memory, or fewer samples."
            )
        count = order**2 + order + 1
        chunks = [*pairwise(samples * part // count for part in range(count + 1))]
        members = [_points_on(line, order) for line in _points(order)]
    seen: set[int] = set()
    for number, some in enumerate(members):
        own = frozenset(chunks[k] for k in some if k not in seen)
        seen.update(some)
        yield Lot(number, tuple(chunks[k] for k in some), own)


def _largest(samples: int, order: int) -> int:
    """How many samples a task has at most in a projective plane of an order."""
    return (order + 1) * -(-samples // (order**2 + order + 1))


def _points(order: int) -> Iterator[tuple[int, int, int]]:
    """The points of the projective plane over the numbers modulo a prime; lines are alike."""
    numbers = range(order)
    yield from ((1, a, b) for a, b in product(numbers, repeat=2))
    yield from ((0, 1, a) for a in numbers)
    yield (0, 0, 1)


def _points_on(line: tuple[int, int, int], order: int) -> list[int]:
    """The numbers of the points of a line, those that solve a x + b y + c z = 0."""
    a, b, c = line
    numbers = range(order)
    if c:
        inverse = pow(c, -1, order)
        points = [x * order + -(a + b * x) * inverse % order for x in numbers]
        return [*points, order**2 + -b * inverse % order]
    last = order**2 + order
    if b:
        x = -a * pow(b, -1, order) % order
        return [*(x * order + y for y in numbers), last]
    return [*(order**2 + y for y in numbers), last]


def _is_prime(number: int) -> bool:
    return number > 1 and all(number % k for k in range(2, isqrt(number) + 1))


ORDERS = [q for q in range(2, LARGEST_ORDER + 1) if _is_prime(q)]
