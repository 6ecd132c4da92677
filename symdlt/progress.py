"""Progress of long work, on stderr and only where somebody watches."""

from __future__ import annotations

import sys
from collections.abc import Generator, Sequence
from typing import TypeVar

Item = TypeVar("Item")


def track(
    items: Sequence[Item], label: str, progress: bool | None = None
) -> Generator[Item, None, None]:
    """Yield the items and show on stderr how far the work is.

    Args:
        items: what the work goes through.
        label: what is shown in front of the count.
        progress: True or False, or None to show it on a terminal only.

    >>> list(track([1, 2], "counting", progress=False))
    [1, 2]
    """
    watched = sys.stderr is not None and sys.stderr.isatty()
    shown = watched if progress is None else progress
    try:
        for count, item in enumerate(items, 1):
            if shown:
                print(f"\r{label} {count}/{len(items)}", end="", file=sys.stderr, flush=True)
            yield item
    finally:
        if shown:
            print(file=sys.stderr)
