"""The equations of a layer of any kind, as users ask for them."""

from __future__ import annotations

from collections.abc import Sequence

from symdlt.definitions import AnyTensor, Layer, OddTensor, Stack, split_subleading
from symdlt.derivation.response.symbolic.inside_equations import InsideEquations
from symdlt.derivation.response.symbolic.layer_derivation import LayerDerivation
from symdlt.derivation.response.symbolic.layer_equations import LayerEquation, LayerEquations
from symdlt.derivation.response.symbolic.readable import (
    readable_layer,
    readable_piece,
    readable_tensor,
    refused,
)


def layer_equations(
    name: str | AnyTensor, layer: Layer | Stack | str, *, recorded: bool = False
) -> LayerEquations:
    r"""Derive the recursion of a tensor for a layer of any kind.

    By the linear response of neuron averages, for many inputs, in derivative form. `n` is the
    width of layer ℓ, n' that of layer ℓ-1, and `n_h` that of a field inside the layer. With a skip
    the recursion reads two more quantities of layer ℓ:

    - QV, the covariance of two conditional covariances of z, and alike for the other tensors;
    - Y_12[F], the covariance of the conditional covariance of z_1 z_2 with the noise of a
      function F that a later layer m, or the layer itself, reads at the same neurons. Edges
      behind the semicolon join vertices; s^m is of layer m, G^lm and H^lm are of both.

    G.1 and H.1, the corrections of the kernel and the NTK, read QV, QD and QF of layers with a
    skip, and Y of derivatives, Y_12[s'^m_3 s'^m_4]. Where weights
    have fourth cumulants they read X_1234 of layer ℓ, the part of these in the fourth cumulant of
    one neuron, and XH_1234, the same with an edge between the first two.

    Args:
        name: a tensor of the book, G.1 or H.1, or an odd tensor A3, N3, F3, Q3.
        layer: a layer, or its text.
        recorded: whether the equations shall keep how each term was made; `explain` derives them
            again so where they were not.

    Raises:
        UnknownTensorError: if there is no such tensor.
        LayerError: if the layer keeps a function on its neurons or ends with a norm; of windows
            inside for corrections and odd tensors.
        OrderError: for a tensor of more than four axes, and for other corrections.

    >>> print(layer_equations("H", "u = U z; v = V z; z' = W s(u) v"))
    H_12[l+1] =
      + C_V lambda_W <s(u)_1 s(u)_2> G_12
      + C_W lambda_V <s(u)_1 s(u)_2> G_12
      + C_V C_W lambda_U <s'(u)_1 s'(u)_2> G_12^2
      + C_V C_W <s(u)_1 s(u)_2> H_12
      + C_U C_V C_W <s'(u)_1 s'(u)_2> G_12 H_12
    >>> print(layer_equations("V", "z' = xi z + W z")[2])
    V_1234 =
      + QV_1234
      + Y_12[z_3 z_4]
      + Y_34[z_1 z_2]
    """
    piece = readable_piece(name)
    correlator = readable_tensor(split_subleading(name)[0] if isinstance(name, str) else name)
    definition = readable_layer(layer)
    derived = LayerDerivation(correlator, definition, recorded)
    if derived.kernels.windowed and (piece or isinstance(correlator, OddTensor)):
        raise refused(
            definition,
            f"has a window inside, and of such layers {name} is known where it is in the last "
            "statement. Make it two layers",
        )
    equations = [*(derived.corrections() if piece else derived.equations())]
    equations += _inside(derived, equations)
    return LayerEquations(correlator, definition, tuple(equations), derived.glossary(piece), piece)


def _inside(derived: LayerDerivation, equations: Sequence[LayerEquation]) -> list[LayerEquation]:
    """The equations of fields inside the layer that have windows, each before those it reads."""
    inside = InsideEquations(derived.layer, derived.means.recorded)
    for one in equations:
        inside.add(derived, one.polynomial.terms)
    return [made.equation for made in inside.made.values()][::-1]
