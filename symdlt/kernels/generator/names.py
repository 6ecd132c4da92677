"""How fields and tensors of a layer are named in code."""

from __future__ import annotations

from symdlt.definitions import ascii_name


def identifier(field: str) -> str:
    """The name of a field in code.

    >>> identifier("z'"), identifier("rmsnorm(z)")
    ('z_above', 'rmsnorm_z')
    """
    named = ascii_name(field).replace("'", "_above").removesuffix(")")
    return named.replace("(", "_")


def table_of(tensor: str) -> str:
    """The name of the table of a tensor in code.

    >>> table_of("V"), table_of("G^lm"), table_of("V^(u,v)"), table_of("Y^(h)_s")
    ('V', 'G_lm', 'V_u_v', 'Y_h_s')
    """
    letter, mark, of = tensor.partition("^")
    if not of.startswith("("):
        return f"{letter}{'_' * bool(mark)}{of}"
    fields, _, rest = of.removeprefix("(").rpartition(")")
    return "_".join([letter, *map(identifier, fields.split(","))]) + rest
