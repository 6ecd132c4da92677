"""The commands of the command line that ask about depth."""

from __future__ import annotations

import argparse
import json
from typing import Any


def run_exponents(options: argparse.Namespace) -> str:
    """Critical exponents, or with --check their comparison with the iterated kernel."""
    from symdlt.asymptotics import exponents
    from symdlt.networks import correlators

    lower = [c for order in range(options.order) for c in correlators(order)]
    solution = exponents(options.activation, [*lower, *correlators(options.order)])
    if options.check is not None:
        from symdlt.mlp import check_exponents

        return _shown(check_exponents(solution, options.check), options)
    return solution.latex() if options.format == "latex" else _shown(solution, options)


def run_criticality(options: argparse.Namespace) -> str:
    """Critical points and the universality class."""
    from symdlt.asymptotics import criticality

    return _shown(criticality(options.activation, digits=options.digits), options)


def run_nearby(options: argparse.Namespace) -> str:
    """Two nearby inputs at criticality."""
    from symdlt.asymptotics import nearby

    return _shown(nearby(options.activation), options)


def run_phase(options: argparse.Namespace) -> str:
    """The rates of a network at any variances."""
    from symdlt.asymptotics import phase

    found = phase(options.activation, options.C_W, options.C_b, digits=options.digits)
    return _shown(found, options)


def run_recipe(options: argparse.Namespace) -> str:
    """A critical initialisation."""
    from symdlt.asymptotics import recipe

    return _shown(recipe(options.activation, options.widths), options)


def _shown(found: Any, options: argparse.Namespace) -> str:
    """A result as text or as JSON."""
    return json.dumps(found.to_dict(), indent=1) if options.format == "json" else str(found)
