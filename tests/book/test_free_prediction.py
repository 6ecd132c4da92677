"""The signs of the NTK fluctuation in (∞.79) and (∞.154), by inverting the NTK exactly."""

from fractions import Fraction

import numpy as np

from .brackets import inverse

SCALE = Fraction(1, 10**4)
MEAN = np.array([[3, 1, 2], [1, 5, 1], [2, 1, 4]]) * Fraction(1)
SHIFT = np.array([[1, 2, -3], [2, -1, 1], [-3, 1, 2]]) * Fraction(1)
ERROR = np.array([Fraction(2), Fraction(-3)])


def exact_change(scale):
    """−Ĥ_{δα} Ĥ^{αβ} (z − y)_β, sample 0 being the test point and 1, 2 the training set."""
    full = MEAN + scale * SHIFT
    return -(full[0, 1:] @ inverse(full[1:, 1:]) @ ERROR)


def expanded_change(scale, sign):
    """The same to second order in the fluctuation; `sign` of the first-order term."""
    inner, shift = inverse(MEAN[1:, 1:]), scale * SHIFT
    across = MEAN[0, 1:] @ inner
    fluctuation = (shift[0, 1:] - across @ shift[1:, 1:]) @ inner
    second = fluctuation @ shift[1:, 1:] @ inner @ ERROR
    return -(across @ ERROR) + sign * fluctuation @ ERROR - sign * second


def remainder(scale, sign):
    return abs(exact_change(scale) - expanded_change(scale, sign))


def test_first_order_term_is_negative_and_second_order_term_positive():
    assert 0 < remainder(SCALE / 10, -1) < remainder(SCALE, -1) / 900


def test_printed_signs_are_off_at_first_order():
    assert remainder(SCALE / 10, +1) > remainder(SCALE, +1) / 11
