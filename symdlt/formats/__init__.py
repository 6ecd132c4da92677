"""Formats: recursions as JSON and as LaTeX, forests and tensors drawn."""

from symdlt.formats.drawings import draw as draw
from symdlt.formats.json_form import from_json as from_json
from symdlt.formats.json_form import to_dict as to_dict
from symdlt.formats.json_form import to_json as to_json
from symdlt.formats.shapes import Drawing as Drawing
