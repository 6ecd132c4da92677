"""The tensors of a network at all layers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from numbers import Integral
from os import PathLike
from reprlib import repr as short_repr
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symdlt.definitions import canonical_name
from symdlt.display import ShownAsText
from symdlt.equality import EqualByFields
from symdlt.errors import InputError, KernelError, UnknownTensorError, require
from symdlt.networks.files import arrays_of, read, write
from symdlt.networks.requests import KNOWN, Blocks, axes
from symdlt.tables import Tabular, library, text_table

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class LayerTensors(EqualByFields):
    """The tensors of one layer; axis k of an array is the k-th subscript.

    Attributes:
        number: the layer, counted from 1.
        tensors: an array for each name.
    """

    number: int
    tensors: Mapping[str, Array]

    def __post_init__(self) -> None:
        require(self.tensors, Mapping, "a dict of tensors", "`Propagation.layer` gives a layer.")

    def __getitem__(self, name: str) -> Array:
        return look_up(self.tensors, name)

    def __repr__(self) -> str:
        return f"LayerTensors({self.number}, tensors={' '.join(self.tensors)})"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Propagation(ShownAsText, Tabular, EqualByFields):
    """The tensors of a network at all layers, for given samples.

    `result["V"]` has the layers along axis 0 and the k-th subscript along axis k;
    `result.layer(3)["V"]` is the third layer of it. A tensor that starts at order 1/n^m is without
    its factor n_(l-1)^-m; `finite_width` puts it in.

    Attributes:
        tensors: an array for each name.
        widths: the hidden widths n_1, …, n_(L-1).
        blocks: which samples are along each axis.

    >>> from symdlt.networks import MLP
    >>> mlp = MLP(activation="sin", widths=[50, 40], C_b=0.0, C_W=1.0)
    >>> result = mlp.propagate([[1.0, 0.5, -0.5]], ["G", "V"])
    >>> result["V"].shape, result.layer(3)["V"].shape
    ((3, 1, 1, 1, 1), (1, 1, 1, 1))
    >>> bool(result.finite_width("V")[2] == result.layer(3)["V"] / 40)
    True
    """

    tensors: Mapping[str, Array]
    widths: tuple[int, ...]
    blocks: Blocks

    def __post_init__(self) -> None:
        _check_parts(self.tensors, self.widths, self.blocks)
        for array in self.tensors.values():
            array.flags.writeable = False
        object.__setattr__(self, "tensors", MappingProxyType(dict(self.tensors)))

    @property
    def depth(self) -> int:
        """The number of layers L."""
        return len(self.widths) + 1

    @property
    def names(self) -> tuple[str, ...]:
        """The tensors that are there."""
        return tuple(self.tensors)

    @property
    def layers(self) -> tuple[LayerTensors, ...]:
        """All layers, the first one first."""
        return tuple(self.layer(number) for number in range(1, self.depth + 1))

    def __getitem__(self, name: str) -> Array:
        return look_up(self.tensors, name)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and canonical_name(name) in self.tensors

    def __iter__(self) -> Iterator[str]:
        return iter(self.tensors)

    def __len__(self) -> int:
        return len(self.tensors)

    def __str__(self) -> str:
        """Each tensor at each layer, of the first sample with itself."""
        rows = [["layer", *self.names]]
        for number, layer in enumerate(self.layers, 1):
            values = [float(layer[name].reshape(-1)[0]) for name in self.names]
            rows.append([str(number), *(f"{value:.6g}" for value in values)])
        first = [block[0] for block in self.blocks]
        return "\n".join(
            [repr(self), f"at the samples {', '.join(map(str, first))}:", *text_table(rows)]
        )

    def layer(self, number: int) -> LayerTensors:
        """The tensors of layer 1, …, L.

        Raises:
            InputError: if the number is none.
            KernelError: if there is no such layer.
        """
        require(number, Integral, "a number of a layer", "Count the layers from 1.")
        if not 1 <= number <= self.depth:
            raise KernelError(
                f"There is no layer {number}. They are counted from 1 to {self.depth}. "
                "Give one of these."
            )
        return LayerTensors(int(number), {name: a[number - 1] for name, a in self.tensors.items()})

    def finite_width(self, name: str) -> Array:
        r"""A tensor as it stands in its definition at these widths.

        This is the coefficient of the Kronecker deltas of its neurons: $K + G^{(1)}/n_{ℓ-1}$ of
        $\mathbb{E}[z_1 z_2]$ for G, $Θ + H^{(1)}/n_{ℓ-1}$ for H, and $X/n_{ℓ-1}$ for the others,
        V/n of the connected four-point function among them. What is left out is smaller by 1/n.

        Args:
            name: one of the thirteen tensors; G and H need G.1 and H.1.

        Raises:
            UnknownTensorError: if it was not asked for, or its correction was not.
        """
        leading, name = self[name], canonical_name(name)
        if name.endswith(".1"):
            raise UnknownTensorError(
                f"{name} is a part of {name[0]}. It was asked for at finite width. "
                f"Ask for {name[0]}, which includes it."
            )
        below = np.array([1, *self.widths], dtype=float).reshape(-1, *(1,) * axes(name))
        if name in ("G", "H"):
            corrected: Array = leading + self[f"{name}.1"] / below
            return corrected
        scaled: Array = leading / below
        return scaled

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays of the file that `save` writes, by their names."""
        return arrays_of(self.tensors, self.widths, self.blocks)

    def columns(self) -> dict[str, list[Any]]:
        """A row for each entry at each layer; `to_pandas` makes a DataFrame of them."""
        rows = [
            (
                name,
                number,
                tuple(block[i] for block, i in zip(self.blocks, entry, strict=False)),
                value,
            )
            for name, array in self.tensors.items()
            for number, layer in enumerate(array, 1)
            for entry, value in zip(np.ndindex(layer.shape), layer.ravel().tolist(), strict=True)
        ]
        names = ("tensor", "layer", "samples", "value")
        return dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))

    def to_xarray(self) -> Any:
        """The tensors as a Dataset of xarray, with named axes: layer, sample_1, sample_2, ….

        Raises:
            MissingLibraryError: if xarray is not installed.

        >>> from symdlt import MLP
        >>> mlp = MLP(activation="sin", widths=[50, 40], C_b=0.0, C_W=1.0)
        >>> data = mlp.propagate([[1.0], [0.5]], ["G", "V"]).to_xarray()
        >>> data["V"].sel(layer=3).mean("sample_4").dims
        ('sample_1', 'sample_2', 'sample_3')
        """
        coordinates: dict[str, Any] = {"layer": np.arange(1, self.depth + 1)}
        coordinates |= {f"sample_{k}": list(block) for k, block in enumerate(self.blocks, 1)}
        named = {
            name: (["layer", *(f"sample_{k}" for k in range(1, array.ndim))], array)
            for name, array in self.tensors.items()
        }
        return library("xarray").Dataset(named, coordinates, {"widths": list(self.widths)})

    def save(self, path: str | PathLike[str]) -> None:
        """Write everything to one file, which `Propagation.load` reads and `numpy.load` as well.

        Args:
            path: the file, as a rule with the ending npz.

        Raises:
            OSError: if it cannot be written.
        """
        write(self.tensors, self.widths, self.blocks, path)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Propagation:
        """Read a file that `save` has written.

        Raises:
            SchemaError: if it is no such file, damaged, or of another version.
            OSError: if it cannot be read.
        """
        tensors, widths, blocks = read(path)
        return cls(tensors, widths, blocks)

    def __reduce__(self) -> tuple[object, ...]:
        return Propagation, (dict(self.tensors), self.widths, self.blocks)

    def __repr__(self) -> str:
        sizes = sorted({len(block) for block in self.blocks})
        one = sizes == [1]
        samples = "×".join(str(len(block)) for block in self.blocks)
        counted = str(sizes[0]) if len(sizes) == 1 else samples
        deep = f"{self.depth} layer{'s' * (self.depth > 1)}"
        return (
            f"Propagation({deep}, {counted} sample{'' if one else 's'}, "
            f"tensors={' '.join(self.tensors)})"
        )


def _check_parts(tensors: Mapping[str, Array], widths: tuple[int, ...], blocks: Blocks) -> None:
    """Refuse what is no result of `propagate`: tensors whose axes are not layers and samples."""
    advice = "Such results come from `propagate` or `Propagation.load`."
    require(tensors, Mapping, "a dict of tensors", advice)
    for what, listed in (("widths", widths), ("blocks", blocks)):
        require(listed, tuple, f"a tuple of {what}", advice)
    for name, array in tensors.items():
        known = isinstance(name, str) and name in KNOWN
        sizes = tuple(map(len, blocks[: axes(name)])) if known else ()
        wanted = (len(widths) + 1, *sizes)
        if not known or len(sizes) != axes(name) or np.shape(array) != wanted:
            raise KernelError(
                f"{short_repr(name)} with the shape {np.shape(array)} is no tensor of "
                f"{len(widths) + 1} layers and {len(blocks)} blocks of samples. The layers are "
                f"along axis 0, samples along the others. {advice}"
            )
        require(array, np.ndarray, "an array", advice)


def look_up(tensors: Mapping[str, Array], name: str) -> Array:
    """The tensor of a name.

    Raises:
        UnknownTensorError: if it is not there.
        InputError: if it is no name.
    """
    if isinstance(name, str):
        if canonical_name(name) in tensors:
            return tensors[canonical_name(name)]
        asked = f"Ask for it with tensors=[…, {name!r}]."
        hint = asked if canonical_name(name) in KNOWN else "Give one of these."
        raise UnknownTensorError(
            f"There is no {short_repr(name)} here. There are {' '.join(tensors)}. {hint}"
        )
    raise InputError(
        f"{short_repr(name)} is not the name of a tensor. There are {' '.join(tensors)}. "
        "Give one of these."
    )
