"""Progress of long work on stderr: how long it takes, and how much of it is left."""

from __future__ import annotations

import sys
from collections.abc import Generator, Sequence
from time import perf_counter
from typing import TypeVar

Item = TypeVar("Item")

# Convention: waits from ten seconds on are announced.
TOLD_FROM = 10.0
# Rates are measured from so many seconds on. Measured: of alike tasks and of groups of networks a
# quarter is enough for a factor of three; of diagrams, of which the first are the dearest, even
# five seconds give ten times too much; of layers, of which the first have large variances, one
# second is enough.
ALIKE_FROM, LAYERS_FROM, UNLIKE_FROM = 0.25, 1.0, 5.0


def track(
    items: Sequence[Item],
    label: str,
    progress: bool | None = None,
    weights: Sequence[float] | None = None,
) -> Generator[Item, None, None]:
    """Yield the items and show on stderr how far the work is, on a line that is erased at its end.

    How long it takes is estimated from the items done so far. Where nobody watches, one line says
    so if it is long.

    Args:
        items: what the work goes through.
        label: what is shown in front of the count.
        progress: True or False, or None to show it in a terminal or notebook only.
        weights: how the items compare in their work; without them the estimate comes later, and
            is rough.

    >>> list(track([1, 2], "counting", progress=False))
    [1, 2]
    """
    costs = [1.0] * len(items) if weights is None else [*weights]
    measured_from = UNLIKE_FROM if weights is None else ALIKE_FROM
    with Progress(label, sum(costs), progress, measured_from) as told:
        done = 0.0
        for count, (item, cost) in enumerate(zip(items, costs, strict=True), 1):
            told.reach(done, f"{count}/{len(items)}")
            yield item
            done += cost


class Progress:
    """What is shown on stderr of long work, on a line that is erased at its end.

    Args:
        label: what is shown in front of the count.
        work: all there is.
        progress: True or False, or None to show it in a terminal or notebook only.
        measured_from: after how many seconds a rate is believed.
    """

    def __init__(
        self, label: str, work: float, progress: bool | None, measured_from: float = ALIKE_FROM
    ) -> None:
        self.label, self.work, self.measured_from = label, work, measured_from
        self.silent = progress is False or sys.stderr is None
        self.shown = not self.silent and (_is_watched() if progress is None else progress)
        self.told, self.width, self.start = self.shown, 0, perf_counter()

    def __enter__(self) -> Progress:
        return self

    def reach(self, done: float, count: str) -> None:
        """So much of the work is done; the count is shown as it is."""
        if self.silent:
            return
        elapsed = perf_counter() - self.start
        known = elapsed >= self.measured_from and done > 0.0
        left = elapsed * (self.work - done) / done if known else 0.0
        if known and not self.told and elapsed + left > TOLD_FROM:
            self.told = True
            print(f"{self.label}: {in_words(left)} left", file=sys.stderr, flush=True)
        if self.shown:
            text = f"{self.label} {count}" + f", {in_words(left)} left" * known
            print("\r" + text.ljust(self.width), end="", file=sys.stderr, flush=True)
            self.width = len(text)

    def __exit__(self, *_: object) -> None:
        if self.shown:
            print("\r" + " " * self.width + "\r", end="", file=sys.stderr, flush=True)


def in_words(seconds: float) -> str:
    """A time as one would say it.

    >>> in_words(41.3), in_words(600), in_words(10_000)
    ('about 41 s', 'about 10 min', 'about 2.8 h')
    """
    if seconds < 120:
        return f"about {seconds:.0f} s"
    if seconds < 7200:
        return f"about {seconds / 60:.0f} min"
    return f"about {seconds / 3600:.1f} h"


def _is_watched() -> bool:
    """Whether stderr is a terminal, or the output of a cell of a notebook."""
    return sys.stderr.isatty() or type(sys.stderr).__module__.startswith("ipykernel.")
