"""The whole way from definitions to results, stage by stage, timed and logged.

definition ─► forward equation ─► contraction ─► width expansion ─► recursion
│
LaTeX document ◄───────────────────────────┤
asymptotic solution ◄──────────────────────┤
kernel source ◄────────────────────────────┘
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

from symdlt.definitions import BOOK
from symdlt.derivation import RecursionSystem, derive, derive_system, explain

if TYPE_CHECKING:
    from symdlt.asymptotics import AsymptoticSolution
    from symdlt.formats.latex import LatexDocument
    from symdlt.kernels import KernelSource

_LOG = logging.getLogger("symdlt")


@dataclass(frozen=True, slots=True)
class Results:
    """What the pipeline makes of the thirteen tensors of the book.

    Attributes:
        many: their recursions for many inputs.
        one: the same for a single input.
        solution: exponents, leading coefficients and ratios.
        kernel: NumPy source that iterates the recursions.
        document: the recursions in LaTeX.
    """

    many: RecursionSystem
    one: RecursionSystem
    solution: AsymptoticSolution
    kernel: KernelSource
    document: LatexDocument


def run(activation: str = "tanh") -> Results:
    """Derive the thirteen recursions, solve them, generate a kernel and typeset them.

    Args:
        activation: what the recursions are solved for.

    Raises:
        SymdltError: if the activation cannot be read or its recursions not be solved.
    """
    from symdlt.asymptotics import exponents
    from symdlt.formats.latex import document
    from symdlt.kernels import kernel_for

    with _stage("recursions, many inputs"):
        many = derive_system(BOOK)
    with _stage("recursions, one input"):
        one = derive_system(BOOK, inputs="one")
    with _stage(f"exponents of {activation}"):
        solution = exponents(activation)
    with _stage("NumPy kernel"):
        kernel = kernel_for(inputs="one")
    with _stage("LaTeX"):
        paper = document(many)
    return Results(many, one, solution, kernel, paper)


@contextmanager
def _stage(name: str) -> Iterator[None]:
    start = perf_counter()
    yield
    _LOG.info("%s: %.2f s", name, perf_counter() - start)


def tour() -> str:
    """The short tour that `symdlt` without a command prints."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(message)s"))
    _LOG.addHandler(handler)
    _LOG.setLevel(logging.INFO)
    try:
        results = run()
    finally:
        _LOG.removeHandler(handler)
    kernel = results.kernel.text.count("\n")
    paper = results.document.source.count("\n")
    sections = (
        ("The thirteen recursions for one input, derived from the definitions", str(results.one)),
        (
            "The same for many inputs",
            "\n".join(f"{r.name}: {len(r.terms)} terms" for r in results.many)
            + "\nFor example `symdlt derive R`:\n"
            + str(results.many["R"]),
        ),
        ("Where a term comes from: `symdlt explain R --term 4`", explain(derive("R"), 4)),
        ("How they scale with depth: `symdlt exponents tanh`", results.solution.table()),
        (f"A NumPy kernel of {kernel} lines", "`symdlt kernel -o my_kernel.py` writes it."),
        (
            f"A LaTeX document of {paper} lines",
            "`symdlt latex T --document -o T.tex` writes one for T; pdflatex compiles it.",
        ),
    )
    return "\n\n".join(f"{title}\n{'-' * len(title)}\n{text}" for title, text in sections)


def regenerate_checkout(*, check: bool, root: Path | None = None) -> str:
    """Write the generated files of a checkout again, or show how they differ.

    Args:
        check: only compare.
        root: the checkout; the current folder if left out.

    Returns:
        Unified diffs when checking, else one line for each file written or removed.

    Raises:
        KernelError: if the folder is not a checkout.
    """
    from symdlt.formats.latex import golden_files
    from symdlt.kernels import kernel_files, regenerate

    providers: tuple[Callable[[], dict[str, str]], ...] = (kernel_files, golden_files)
    drifts = regenerate(root or Path.cwd(), check=check, providers=providers)
    return "".join(f"{drift}" if check else f"{drift.kind}: {drift.path}\n" for drift in drifts)
