"""LaTeX of recursions and forward equations, in the notation of the field."""

from symdlt.formats.latex.documents import LatexDocument as LatexDocument
from symdlt.formats.latex.documents import document as document
from symdlt.formats.latex.documents import golden_files as golden_files
from symdlt.formats.latex.documents import to_latex as to_latex
from symdlt.formats.latex.forward import forward_latex as forward_latex
from symdlt.formats.latex.notation import Conventions as Conventions
from symdlt.formats.latex.notation import powers as powers
from symdlt.formats.latex.notation import renamed as renamed
from symdlt.formats.latex.notation import sigma as sigma
from symdlt.formats.latex.notation import symbol_text as symbol_text
from symdlt.formats.latex.notation import tensor_name as tensor_name
from symdlt.formats.latex.recursions import factor_latex as factor_latex
from symdlt.formats.latex.recursions import recursion_latex as recursion_latex
from symdlt.formats.latex.widths import estimated_width as estimated_width
