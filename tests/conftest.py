"""Property tests draw the same examples on every run and are not timed; which tests are smoke."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "repeatable",
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("repeatable")

ROOT = Path(__file__).parents[1]
# A cross-section of the way from definitions to numbers, about 25 s of one core.
SMOKE = (
    "README.md",
    "tests/asymptotics/test_balance.py",
    "tests/book/test_single_input.py",
    "tests/algebra/test_canonical.py",
    "tests/means/test_closed.py",
    "tests/networks/test_result.py",
    "tests/definitions/test_tensors.py",
    "tests/derivation/test_against_book.py",
    "tests/derivation/test_json_fields.py",
    "tests/test_api.py",
    "tests/test_files.py",
    "tests/formats/test_latex.py",
    "tests/algebra/test_expectation.py",
)


def pytest_collection_modifyitems(items):
    chosen = {ROOT / name for name in SMOKE}
    for item in items:
        if item.path in chosen and not item.get_closest_marker("slow"):
            item.add_marker(pytest.mark.smoke)
