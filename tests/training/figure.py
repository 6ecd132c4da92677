"""The figure of docs/training.md: `python -m tests.training.figure FILE` draws it (matplotlib)."""

import sys

import numpy as np

from .test_against_networks import STORED, predicted

EXAMPLE = "tanh-3-gd-two"
COLOURS = {"tanh": "C0", "gelu": "C1", "sin": "C2"}


def against_each_other(axes, part, title):
    """Measured coefficients of 1/n over predicted ones."""
    for name, record in STORED.items():
        ours = predicted(record)[0][part]
        numbers = [np.array(record[part][key]) for key in ("c1", "c1_error")]
        if part == "covariance":
            ours, *numbers = (np.diag(array) for array in (ours, *numbers))
        colour = COLOURS[name.partition("-")[0]]
        axes.errorbar(ours, numbers[0], numbers[1], fmt="o", ms=3, lw=1, color=colour)
    ends = np.array(axes.get_xlim())
    axes.plot(ends, ends, color="0.6", lw=1, zorder=0)
    axes.set_xlabel("predicted")
    axes.set_ylabel("measured")
    axes.set_title(title)


def over_width(axes):
    """One configuration at each width, and its limit."""
    record = STORED[EXAMPLE]
    ours = predicted(record)[0]["mean"]
    for k, limit in enumerate(ours):
        places = [1 / one["width"] for one in record["measured"]]
        values = [one["mean"][k] for one in record["measured"]]
        errors = [one["mean_error"][k] for one in record["measured"]]
        axes.errorbar(places, values, errors, fmt="o", ms=4, lw=1, color=f"C{k}", label=f"test {k}")
        axes.plot(0, limit, "*", ms=10, color=f"C{k}")
    axes.set_xlabel("1/n")
    axes.set_ylabel("n (mean - limit)")
    axes.set_title(f"{EXAMPLE}; * predicted")
    axes.legend()


def draw(path):
    from matplotlib import pyplot

    figure, (left, middle, right) = pyplot.subplots(1, 3, figsize=(10, 3.4), layout="constrained")
    over_width(left)
    against_each_other(middle, "mean", "1/n of the mean")
    against_each_other(right, "covariance", "1/n of the variance")
    figure.savefig(path, dpi=110)


if __name__ == "__main__":
    draw(sys.argv[1])
