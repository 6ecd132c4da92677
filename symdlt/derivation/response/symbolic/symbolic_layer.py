"""A layer in symbols: its program, its kernels, and its response to the layer below."""

from __future__ import annotations

from functools import lru_cache

from symdlt.definitions import Layer, Stack, program_of
from symdlt.derivation.response.site_averages import OUTPUT
from symdlt.derivation.response.symbolic.field_names import letters_of, names_of, reads_z_alone
from symdlt.derivation.response.symbolic.labels import Labels, windows_of
from symdlt.derivation.response.symbolic.later_layers import (
    BASE,
    with_functions_above,
    with_later_layer,
)
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
        # Of averages whose noise has been met what they are of layer l, and of layer l+1.
        self.noises = [(read, read) for read in self.beyond.reads] if self.shared else []
        self.open = ""  # why tensors of order 1/n are not those of networks
        site = program.fields[self.top].site
        fields = program.fields[BASE + 1 : self.top + 1]
        if not self.shared and any(one.site == site for f in fields for one in f.branches):
            self._read_above()
        self.program = self.beyond.program
        names = names_of(definition, self.beyond)
        labels = Labels(samples, windows_of(definition))
        self.tables = NoiseTables(self.beyond, labels, names)
        self.texts = ReasonTexts(self.program, names, labels, reads_z_alone(definition))
        self.means = SymbolicMeans(self.texts, recorded)
        letters = letters_of(definition, self.beyond, names)
        self.kernels = SymbolicKernels(self.beyond, self.means, letters)
        self.response = SymbolicResponse(self.kernels, "Q" * bool(self.noises), odd)

    def _read_above(self) -> None:
        """Add what the next layer reads of z', whose neurons this layer reads itself."""
        added = with_functions_above(self.beyond, self.top)
        if added is None:
            self.open = "reads neurons that z' keeps, and others than z of the neurons of z"
            return
        self.beyond = added
        above = len(added.program.fields) - 1
        self.noises = [(read, (above, number)) for number, read in enumerate(added.sources)]
        self.noises.append(((BASE, OUTPUT), (self.top, OUTPUT)))


@lru_cache(maxsize=8)  # what one tensor of a layer has found, the others read
def symbolic_layer(
    definition: Layer | Stack, samples: str, recorded: bool, odd: bool
) -> SymbolicLayer:
    """A layer in symbols."""
    return SymbolicLayer(definition, samples, recorded, odd)
