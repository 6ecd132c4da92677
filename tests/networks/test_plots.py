"""Plots are drawn into the Axes they are given and carry the numbers."""

import sys

import numpy as np
import pytest

from symdlt import MLP, exponents
from symdlt.errors import (
    InputError,
    KernelError,
    MissingLibraryError,
    NotationError,
    SolutionError,
    UnknownTensorError,
)
from symdlt.formats.latex import Conventions
from symdlt.networks import (
    Comparison,
    plot_comparison,
    plot_correlations,
    plot_depth,
    plot_ratio,
)

HYPER = {"C_b": 0.1, "C_W": 1.2, "lambda_b": 0.3, "lambda_W": 0.7}
NETWORK = MLP(activation="sin", widths=[20, 50], **HYPER)
RESULT = NETWORK.propagate([[1.0, 0.5]], ["G", "H", "V"])
V = np.arange(16.0).reshape((2,) * 4)
COMPARISON = Comparison(NETWORK, {"V": V}, {"V": V + 1}, {"V": np.ones_like(V)}, 100, True)


def test_depth(ax):
    assert plot_depth(RESULT, ["V", "G"], ax, measured=[COMPARISON]) is ax
    lines = {line.get_label(): line.get_xydata() for line in ax.get_lines()}
    np.testing.assert_array_equal(lines["$K$"], np.c_[[1, 2, 3], RESULT["G"].ravel()])
    np.testing.assert_array_equal(lines["$V$"], np.c_[[1, 2, 3], RESULT["V"].ravel()])
    (points,) = ax.containers
    assert points.lines[0].get_xydata().tolist() == [[3, 1]]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["$K$", "$V$"]


def test_ratio(ax):
    plot_ratio(RESULT, "V", ["G", "G"], ax)
    (line,) = ax.get_lines()
    np.testing.assert_allclose(line.get_ydata(), (RESULT["V"].ravel() / RESULT["G"].ravel() ** 2))
    assert line.get_label() == "$V / K^{2}$"
    plot_ratio(RESULT, "H", "V", ax)
    assert np.isnan(ax.get_lines()[1].get_ydata()).tolist() == [True, False, False]


def test_ratio_with_its_asymptote(ax):
    critical = MLP(activation="tanh", widths=[100] * 199, C_b=0.0, C_W=1.0)
    result = critical.propagate([[1.0, 0.5]], ["G", "V"])
    solution = exponents("tanh").at(lambda_b=0, lambda_W=1)
    plot_ratio(result, "V", ["G", "G"], ax, solution=solution)
    measured, asymptote = (line.get_ydata() for line in ax.get_lines())
    assert measured[-1] == pytest.approx(asymptote[-1], rel=0.05)
    with pytest.raises(SolutionError, match=r"solution.at\(lambda_"):
        plot_ratio(RESULT, "H", "G", ax, solution=exponents("tanh"))


def test_correlations_of_samples(ax):
    result = NETWORK.propagate([[1.0, 0.5], [0.2, -1.0], [2.0, 1.0]], "G")
    plot_correlations(result, ax=ax)
    lines = {line.get_label(): line.get_ydata() for line in ax.get_lines()}
    K = result["G"]
    expected = K[:, 0, 1] / np.sqrt(K[:, 0, 0] * K[:, 1, 1])
    np.testing.assert_allclose(lines["samples 01"], expected)
    with pytest.raises(KernelError, match="G has no entry"):
        plot_correlations(result, [(0, 3)], ax)


def test_blocks_are_named_by_their_samples(ax):
    x = [[1.0, 0.5], [0.2, -1.0], [2.0, 1.0], [0.3, 0.3]]
    cut = NETWORK.propagate(x, ["G"], blocks=[[1, 2], [1, 3]])
    plot_depth(cut, ["G"], ax, samples=(0, 1))
    assert ax.lines[0].get_label() == "$K$  13"
    with pytest.raises(KernelError, match="The two axes of G have different samples"):
        plot_correlations(cut, ax=ax)
    with pytest.raises(KernelError, match="is no pair of samples"):
        plot_correlations(NETWORK.propagate(x, "G"), [(0,)], ax)
    both = NETWORK.propagate(x, ["G"], blocks=[[1, 3], [1, 3]])
    plot_correlations(both, ax=ax)
    assert ax.lines[1].get_label() == "samples 13"


def test_letters_that_matplotlib_cannot_write_are_refused(ax):
    with pytest.raises(NotationError, match="knows no macros of your own"):
        plot_depth(RESULT, ["V"], ax, conventions=Conventions(letters={"V": r"\VEns"}))


def test_a_comparison_of_fewer_samples_is_told(ax):
    result = NETWORK.propagate([[1.0, 0.5]] * 2 + [[0.1, 0.2]], ["V"])
    with pytest.raises(KernelError, match="A comparison in `measured` has 2 samples"):
        plot_depth(result, ["V"], ax, samples=(2, 2, 2, 2), measured=[COMPARISON])


def test_letters_are_the_users(ax):
    letters = Conventions(kernel=r"\Gamma", letters={"V": r"\nu"})
    plot_depth(RESULT, ["G", "V"], ax, conventions=letters)
    shown = [text.get_text() for text in ax.get_legend().get_texts()]
    assert shown == [r"$\Gamma$", r"$\nu$"]


def test_marks_of_tensors_differ_and_wide_ranges_are_logarithmic(ax):
    critical = MLP(
        activation="tanh", widths=[100] * 29, C_b=0.0, C_W=1.0, lambda_b=0.0, lambda_W=1.0
    )
    plot_depth(critical.propagate([[1.0, 0.5]], "all"), None, ax)
    marks = [(line.get_color(), line.get_marker(), line.get_mfc()) for line in ax.get_lines()]
    assert len(set(marks)) == len(marks) == 15
    assert ax.get_yscale() == "symlog"


def test_the_style_for_papers_has_no_bitmaps():
    style = pytest.importorskip("matplotlib.style")
    with style.context("symdlt.paper"):
        assert sys.modules["matplotlib"].rcParams["pdf.fonttype"] == 42


def test_comparison_draws_different_entries_only(ax):
    plot_comparison(COMPARISON, "V", ax)
    assert ax.get_lines()[0].get_ydata().tolist() == [0.0, 1.0, 3.0, 5.0, 7.0, 15.0]
    labels = [text.get_text() for text in ax.get_xticklabels()]
    assert labels == ["0000", "0001", "0011", "0101", "0111", "1111"]


@pytest.mark.usefixtures("ax")
def test_a_new_figure_is_made_if_no_axes_are_given():
    assert plot_depth(RESULT).get_xlabel() == r"layer $\ell$"


@pytest.mark.usefixtures("ax")
@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: plot_depth(3), InputError, "3 is not a result of propagate"),
        (lambda: plot_depth(RESULT, ax=3), InputError, "3 is not an Axes"),
        (lambda: plot_depth(RESULT, "A"), UnknownTensorError, "There is no 'A' here"),
        (lambda: plot_depth(RESULT, samples=(0, 1)), KernelError, r"G has no entry \(0, 1\)"),
        (lambda: plot_depth(RESULT, "V", samples=(0, 0)), KernelError, r"V has no entry \(0, 0\)"),
        (lambda: plot_depth(RESULT, samples=3), InputError, "3 is not a list of positions"),
        (lambda: plot_depth(RESULT, measured=3), InputError, "3 is not a list of comparisons"),
        (lambda: plot_depth(RESULT, measured=[3]), InputError, "3 is not a result of check"),
        (lambda: plot_ratio(RESULT, "V", 3), InputError, "3 is not"),
        (lambda: plot_ratio(RESULT, 3, "V"), InputError, "3 is not the name"),
        (lambda: plot_comparison(RESULT, "V"), InputError, "is not a result of check"),
        (lambda: plot_comparison(COMPARISON, "A"), KernelError, "A was not compared. There are V"),
    ],
)
def test_what_cannot_be_drawn(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_without_matplotlib(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingLibraryError, match=r"pip install 'symdlt\[plot\]'"):
        plot_depth(RESULT)
