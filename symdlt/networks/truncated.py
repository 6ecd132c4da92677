"""The recursion that reads the last layer alone, as it is in print, for comparison."""

from __future__ import annotations

from collections.abc import Iterable

from numpy.typing import ArrayLike

from symdlt.definitions import ODD, Network
from symdlt.derivation.response.fluctuations import Fluctuations
from symdlt.derivation.response.site_averages import OUTPUT, Edges, Pair, SiteAverage
from symdlt.derivation.response.site_means import ZERO, Array
from symdlt.errors import LayerError, require
from symdlt.networks.propagation import Propagation
from symdlt.networks.requests import (
    asked_tensors,
    check_blocks,
    check_data,
    check_network,
    overlaps,
)
from symdlt.networks.streams import check_streams, stream_tensors
from symdlt.tables import text_table


class LastLayerAlone(Fluctuations):
    """Linear response that takes the tensors of the layer below for the covariances of its δQ.

    Noise of a layer meets that of the layer below it, and of no other.
    """

    def both(self, left: Pair, right: Pair, edges: Edges) -> Array:
        """The covariance of two δQ; of two of one layer, V of that layer."""
        key = "whole", left, right, edges
        if key in self.known:
            return self.known[key]
        covariance = super().both(left, right, edges)
        fields = {field for field, _ in (*left, *right)}
        if len(fields) == 1 and fields <= {*self.program.tops}:
            (field,) = fields
            for here, there in ((left, right), (right, left)):
                vertices = here[0][1], here[1][1]
                ordered = min(vertices), max(vertices)
                average = SiteAverage((field, OUTPUT), ordered)
                covariance = covariance + self.noise(average, there, edges)
        self.known[key] = covariance
        return covariance

    def noise(self, average: SiteAverage, pair: Pair, edges: Edges) -> Array:
        """The covariance of noise with a δQ; none with a layer above its own."""
        field, other = pair[0][0], pair[1][0]
        whole = field == other and field in self.program.tops
        if whole and average.read[0] != field:
            return ZERO
        return super().noise(average, pair, edges)

    def observed(self, left: Pair, right: Pair, edges: Edges) -> Array:
        """The covariance of z z at two pairs of legs, which is that of two δQ here."""
        return self.both(left, right, edges)


def truncated_recursion(
    network: Network, x: ArrayLike, tensors: str | Iterable[str] = "V", *, tolerance: float = 1e-7
) -> Propagation:
    r"""The tensors that follow if each layer reads those of the layer below alone.

    For a network with skips this is not right from the third layer on: neurons are read again at
    every depth, and `propagate` counts that. For one input and $z' = ξz + b + Wσ(z)$,
    $V' = χ^2V + C_W^2(⟨σσσσ⟩ - ⟨σσ⟩^2) + 2ξ^2C_W(⟨z^2σσ⟩ - K⟨σσ⟩)$.

    How far it is off at each layer of a network `truncation_text` tells. Deep in a critical network
    that keeps its kernel, V grows each layer by the `growth` of `skip_growth`, and here by its
    `last_layer`, so that what is found here is too low by its `ratio`.

    Args:
        network: layers of any kind.
        x: data of shape (N, n_0), one row for each sample.
        tensors: names as in `propagate`, without G.1, H.1 and odd tensors.
        tolerance: as in `propagate`.

    Raises:
        LayerError: for G.1, H.1 and odd tensors, and what `propagate` refuses.

    >>> from symdlt import propagate
    >>> residual = Network("relu", [8] * 4, {"xi": 0.6, "C_W": 1.28}, "z' = xi z + W s(z)", n_L=8)
    >>> found = [of(residual, [[1.0]], "V")["V"][1:] for of in (truncated_recursion, propagate)]
    >>> (found[0] / found[1]).ravel().round(3).tolist()
    [1.0, 0.817, 0.722, 0.665]
    >>> from symdlt import skip_growth
    >>> round(float(1 / skip_growth("relu", values={"xi": 0.6}).ratio), 3)
    0.479
    """
    check_network(network)
    names = asked_tensors(tensors)
    if any("." in name for name in names):
        raise LayerError(
            "G.1 and H.1 are corrections of single neurons, which the recursion of the last layer "
            "does not have. They were asked of `truncated_recursion`. Ask `propagate` for them."
        )
    if odd := [name for name in names if name in ODD]:
        raise LayerError(
            f"{' '.join(odd)} of a layer follow from those of the layer below, so that nothing is "
            "left out. They were asked of `truncated_recursion`. Ask `propagate` for them."
        )
    data = check_data(x, True)
    sized = network.resized(n_0=data.shape[1], positions=data.shape[2:])
    check_streams(sized, names)
    arrays = stream_tensors(sized, overlaps(data), names, tolerance, response=LastLayerAlone)
    return Propagation(arrays, network.widths, check_blocks(None, names, len(data)))


def truncation_text(truncated: Propagation, full: Propagation) -> str:
    """What the recursion of the last layer alone gives, and how far it is off at each layer.

    Args:
        truncated: what `truncated_recursion` returned.
        full: what `propagate` returned of the same network, data and tensors.

    Raises:
        InputError: if one of them is none.
        LayerError: if they are of other tensors, widths or samples.

    >>> from symdlt import propagate
    >>> residual = Network("relu", [8, 8], {"xi": 0.6, "C_W": 1.28}, "z' = xi z + W s(z)", n_L=8)
    >>> found = [of(residual, [[1.0]], "V") for of in (truncated_recursion, propagate)]
    >>> print(truncation_text(*found))
    Propagation(3 layers, 1 sample, tensors=V)
    at the samples 0, 0, 0, 0:
    layer        V
        1        0
        2  4.86539
        3  9.73079
    Each layer reads the tensors of the layer below alone, as recursions in print do.
    It has of what `propagate` has at these samples:
    layer         V
        2         1
        3  0.817237
    Deep in a critical network that keeps its kernel, `skip_growth` has the ratio of V.
    """
    for one in (truncated, full):
        require(one, Propagation, "a propagation", "Give what `propagate` returned.")
    if (truncated.names, truncated.widths, truncated.blocks) != (
        full.names,
        full.widths,
        full.blocks,
    ):
        raise LayerError(
            f"{truncated!r} and {full!r} are not of the same tensors, widths and samples. They are "
            "to be compared. Ask both functions for the same."
        )
    return "\n".join(
        [
            str(truncated),
            "Each layer reads the tensors of the layer below alone, as recursions in print do.",
            "It has of what `propagate` has at these samples:",
            *_ratios(truncated, full),
            "Deep in a critical network that keeps its kernel, `skip_growth` has the ratio of V.",
        ]
    )


def _ratios(truncated: Propagation, full: Propagation) -> list[str]:
    """The ratios at the first samples, layer by layer, as a table; layer 1 has nothing to read."""
    rows = [["layer", *truncated.names]]
    for number in range(2, truncated.depth + 1):
        parts = [
            (float(one.layer(number)[name].reshape(-1)[0]) for one in (truncated, full))
            for name in truncated.names
        ]
        rows.append([str(number), *(_ratio(*pair) for pair in parts)])
    return text_table(rows)


def _ratio(part: float, whole: float) -> str:
    """One over the other; of two that vanish there is none."""
    return f"{part / whole:.6g}" if whole else "-"
