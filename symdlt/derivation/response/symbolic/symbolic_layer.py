"""A layer in symbols: its program, its kernels, and its response to the layer below."""

from __future__ import annotations

from functools import lru_cache

from symdlt.definitions import Layer, Stack, program_of
from symdlt.derivation.response.symbolic.field_names import letters_of, names_of, reads_z_alone
from symdlt.derivation.response.symbolic.labels import Labels, windows_of
from symdlt.derivation.response.symbolic.later_layers import BASE, with_later_layer
from symdlt.derivation.response.symbolic.noise_tables import NoiseTables
from symdlt.derivation.response.symbolic.reason_texts import ReasonTexts
from symdlt.derivation.response.symbolic.symbolic_kernels import SymbolicKernels
from symdlt.derivation.response.symbolic.symbolic_means import SymbolicMeans, SymbolicNetwork
from symdlt.derivation.response.symbolic.symbolic_response import SymbolicResponse


class SymbolicLayer:
    """A layer in symbols, with its response to the layer below at four legs.

    Args:
        definition: the layer.
        samples: the label of each leg.
        recorded: whether reasons are noted.
        odd: whether the response is followed to odd tensors.
    """

    def __init__(self, definition: Layer | Stack, samples: str, recorded: bool, odd: bool) -> None:
        program = program_of(SymbolicNetwork(definition))  # type: ignore[arg-type]
        self.top = program.tops[1]
        self.shared = program.fields[self.top].site == program.fields[BASE].site
        self.beyond = with_later_layer(program, self.top)
        self.program = self.beyond.program
        names = names_of(definition, self.beyond)
        labels = Labels(samples, windows_of(definition))
        self.tables = NoiseTables(self.beyond, labels, names)
        self.texts = ReasonTexts(self.program, names, labels, reads_z_alone(definition))
        self.means = SymbolicMeans(self.texts, recorded)
        letters = letters_of(definition, self.beyond, names)
        self.kernels = SymbolicKernels(self.beyond, self.means, letters)
        self.response = SymbolicResponse(self.kernels, "Q" * self.shared, odd)


@lru_cache(maxsize=8)  # what one tensor of a layer has found, the others read
def symbolic_layer(
    definition: Layer | Stack, samples: str, recorded: bool, odd: bool
) -> SymbolicLayer:
    """A layer in symbols."""
    return SymbolicLayer(definition, samples, recorded, odd)
