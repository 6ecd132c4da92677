"""Of which layers, depths and laws of weights recursions are derived."""

from __future__ import annotations

from reprlib import repr as short_repr

from symdlt.algebra import ORTHOGONAL
from symdlt.definitions import FIELD, Correlator, Layer, ascii_name
from symdlt.errors import LayerError, OrderError


def check_depth(layer: Layer, at: int | None, correlator: Correlator, piece: int) -> None:
    """Refuse the recursion of a layer where it would not be right, with the reason.

    The kernel and the NTK at infinite width follow from those of the layer below also where z
    stays on its neuron, as it is Gaussian.
    """
    if at is not None and (type(at) is not int or at != 2):
        raise OrderError(
            f"at={short_repr(at)} is no layer that a recursion is derived for by itself. The "
            "second is, as the layer below it is exactly Gaussian. Give 2, or leave it out."
        )
    leading = correlator.pairs == 1 and piece == 0
    gaussian = all(branch.order == FIELD for branch in layer.branches if branch.kept)
    if at is None and not layer.closes and not (leading and gaussian):
        raise LayerError(
            f"The recursion of {correlator.name} does not close for the layer {layer}. With a "
            "skip, the neuron of a leg can be one of those that are summed over in every layer "
            "below, so that from the third layer on V and its kin need cumulants of one neuron "
            "at several depths. Ask for the second layer with at=2, where it is right, for all of "
            "the equations with symdlt.layer_equations, or for numbers with symdlt.propagate."
        )
    if not leading:
        _check_laws(layer, at, correlator, piece)


def _check_laws(layer: Layer, at: int | None, correlator: Correlator, piece: int) -> None:
    """Refuse laws of weights that add terms which are not derived.

    Tensors of two pairs read the variances of independent weights alone. Others read cumulants of
    one neuron, of which fourth cumulants of the weights below it are a part; a first layer has
    Gaussian ones.
    """
    single = at is None and (piece > 0 or correlator.pairs > 2)
    for branch in layer.branches:
        if branch.tensor is None or branch.tensor.law is None or not branch.summed:
            continue
        law, letter = branch.tensor.law, ascii_name(branch.tensor.name)
        told = f"The recursion of {correlator.name}{f'.{piece}' * bool(piece)} is not derived"
        if law.name == ORTHOGONAL:
            raise LayerError(
                f"{told} for orthogonal weights {letter}, whose rows are not independent. They "
                "stand in the layer. Ask symdlt.layer_equations for those of two pairs, or "
                "symdlt.propagate for numbers."
            )
        if single and not law.is_gaussian:
            raise LayerError(
                f"{told} for weights {letter} of a {law.name} law. It reads cumulants of one "
                "neuron, of which the fourth cumulant of the weights is a part. Ask "
                "symdlt.propagate for the numbers, or take Gaussian weights."
            )
