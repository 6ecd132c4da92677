"""Networks whose training is not predicted."""

from __future__ import annotations

from symdlt.algebra import Polynomial
from symdlt.definitions import Network, has_dropout, outputs_are_read
from symdlt.errors import TrainingError


def refuse_outputs_that_are_read(net: Network) -> None:
    """Outputs whose four legs at one neuron are more than a sum over pairs.

    Raises:
        TrainingError: if the network has such.
    """
    if outputs_are_read(net):
        raise TrainingError(
            f"The last layer of {net!r} keeps neurons that others read. The mean dNTK of such "
            "outputs does not vanish, and is not in the prediction. End with a dense layer, as in "
            'layers=[…, "z\' = b + W s(z)"].'
        )


def refuse_laws_of_outputs(net: Network) -> None:
    """Independent entries of the last layer, whose fourth cumulant joins four legs at one output.

    Raises:
        TrainingError: if there are such, other than Gaussian ones.
    """
    for drawn in net.layers[-1].streams[-1].drawn:
        if not (drawn.orthogonal or drawn.fourth == Polynomial.number(0)):
            raise TrainingError(
                f"{drawn.tensor.name} of the last layer of {net!r} has no Gaussian law. Its fourth "
                "cumulant joins outputs and NTKs of one neuron, which is not in the prediction. "
                "Make it Gaussian, or use predict_infinite; other layers may have any law."
            )


def refuse_sums_over_outputs(net: Network) -> None:
    """Fields of the last layer that are as many as outputs, and read, or normalised, on the way.

    Raises:
        TrainingError: if there are such; neurons of a skip are as many as those below.
    """
    if outputs_are_read(net) and not (net.depth > 1 and net.keeps(net.depth)):
        raise TrainingError(
            f"The last layer of {net!r} sums over neurons that its outputs keep. There are n_L of "
            "them, so that at infinite width below the sums are still random. End with a dense "
            'layer, as in layers=[…, "z\' = b + W s(z)"].'
        )


def refuse_dropout(net: Network) -> None:
    """Masks that are others in each step.

    Raises:
        TrainingError: if the network has such.
    """
    if any(has_dropout(layer.streams) for layer in net.layers):
        raise TrainingError(
            f"{net!r} has dropout. It is drawn anew in each step of training, and the tensors are "
            "those of one draw. Predict the network without it, or with prune(…), whose neurons "
            "stay away."
        )
