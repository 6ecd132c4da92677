"""Fields that are no sums of weights: normalised ones, and masks, for stacks of fields."""

from fractions import Fraction

from symdlt.algebra.expression import Letter
from symdlt.algebra.heads import Head, Kind
from symdlt.algebra.layer_labels import Layer
from symdlt.algebra.model import Width, preactivations
from symdlt.algebra.names import refusal


def rmsnorm(of: Head) -> Letter:
    r"""Make a field over its length, $z_i / \sqrt{\frac1n\sum_j z_j^2}$.

    >>> from symdlt.algebra import neurons, sample
    >>> (j,), δ = neurons("j", "n_ℓ"), sample("δ")
    >>> print(rmsnorm(preactivations("ℓ"))(j, δ))
    rmsnorm(z)^(ℓ)_{j;δ}
    """
    return _normalised("rmsnorm", of)


def layernorm(of: Head) -> Letter:
    """Make a field less its mean over the neurons, over the length of what is left.

    >>> layernorm(preactivations("ℓ")).name
    'layernorm(z)'
    """
    return _normalised("layernorm", of)


def dropout(rate: Fraction | int, layer: Layer, size: Width | None = None) -> Letter:
    """Make a mask: factors that are zero for a part of the neurons, another one for each sample.

    Args:
        rate: the part that is zero, an exact number; the others are 1/(1 - rate).
        layer: of the neurons, a number or a symbol such as 'ℓ'.
        size: how many they are, if not as many as z of the layer has.

    >>> dropout(Fraction(1, 10), "ℓ").name
    'dropout(1/10)'
    """
    return _mask("dropout", rate, layer, size)


def prune(rate: Fraction | int, layer: Layer, size: Width | None = None) -> Letter:
    """Make a mask of one draw for all samples; see `dropout`.

    >>> prune(Fraction(1, 10), "ℓ").name
    'prune(1/10)'
    """
    return _mask("prune", rate, layer, size)


def _normalised(norm: str, of: Head) -> Letter:
    if not isinstance(of, Head) or of.kind is not Kind.PREACTIVATION:
        raise refusal(
            of, "a field", f"`{norm}`", "Give preactivations, as in rmsnorm(preactivations('ℓ'))."
        )
    return Letter(Kind.PREACTIVATION, f"{norm}({of.name})", of.slots, of.layer)


def _mask(kind: str, rate: Fraction | int, layer: Layer, size: Width | None) -> Letter:
    if not isinstance(rate, Fraction | int) or not 0 <= rate < 1:
        raise refusal(
            rate,
            "the part of the neurons that is zero",
            f"`{kind}`",
            "Give an exact number from 0 up to below 1, as in Fraction(1, 10).",
        )
    alike = preactivations(layer, size)
    name = f"{kind}({Fraction(rate)})"
    return Letter(Kind.PREACTIVATION, name, alike.slots, alike.layer)
