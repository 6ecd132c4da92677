"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file that takes the place of the one at a path when all of it is on the disk.

    It is written beside the path and renamed, so that readers see the old content or the new one
    and an interrupted or failed writer leaves the old one. Devices and pipes, which cannot be
    renamed over, are written as they are.

    Args:
        path: the file; a link goes on pointing at what is written.

    Raises:
        OSError: with the name of the file, if it cannot be written.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     with whole_file(Path(folder) / "R.txt") as file:
    ...         written = file.write(b"R")
    ...     (Path(folder) / "R.txt").read_text()
    'R'
    """
    target = Path(os.path.realpath(path))
    beside = target.with_name(f".{target.name[:100]}.{secrets.token_hex(4)}.part")
    try:
        if target.exists() and not target.is_file():
            with target.open("wb") as file:
                yield file
            return
        if target.exists() and not os.access(target, os.W_OK):
            raise PermissionError(13, "Permission denied")
        with beside.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            shutil.copymode(target, beside)
        os.replace(beside, target)
    except BrokenPipeError:
        raise
    except OSError as reason:
        # A full disk and a file beside do not say which file they are about.
        raise type(reason)(reason.errno, reason.strerror, os.fspath(path)) from reason
    finally:
        with suppress(OSError):
            beside.unlink()


def write_whole(path: str | os.PathLike[str], content: str | bytes) -> None:
    """Write a text in UTF-8, or bytes, whole or not at all; see `whole_file`."""
    data = content.encode("utf-8") if isinstance(content, str) else content
    with whole_file(path) as file:
        file.write(data)


def same_file(first: str | os.PathLike[str], second: str | os.PathLike[str]) -> bool:
    """Whether two paths lead to one file, by links as well."""
    try:
        return os.path.samefile(first, second)
    except OSError:
        return False
