"""The linear response of neuron averages: layers of any kind, to order 1/n.

Averages over the neurons of a layer fluctuate; `fluctuations` has how they respond to each other,
`corrections` what that does to their means. Both run on numbers, for a network, and on symbols, for
one layer (`symbolic`).
"""
