"""LaTeX of recursions and forward equations, in the notation of the field."""

from symdlt.typesetting._document import LatexDocument as LatexDocument
from symdlt.typesetting._document import document as document
from symdlt.typesetting._document import golden_files as golden_files
from symdlt.typesetting._document import to_latex as to_latex
from symdlt.typesetting._forward import forward_latex as forward_latex
from symdlt.typesetting._notation import Conventions as Conventions
from symdlt.typesetting._recursions import recursion_latex as recursion_latex
from symdlt.typesetting._widths import estimated_width as estimated_width
