"""What drawings are made of, as SVG for a notebook and as TikZ for a paper. Lengths are points."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from os import PathLike, fspath
from typing import TypeAlias

from symdlt.errors import InputError
from symdlt.files import write_whole

Point: TypeAlias = tuple[float, float]

RADIUS = 9.0  # of a circle
MARGIN = 16.0  # around a drawing
# Of letters of eleven points: half of what one takes, half their height, and how far they stand
# below the middle to look centred.
HALF, HIGH, LOWER = 3.2, 5.0, 3.78
CORNER = 3.0  # of a frame that is not round


@dataclass(frozen=True, slots=True)
class Writing:
    """A few letters: as plain text, and in LaTeX; black where the ground is white anyhow."""

    at: Point
    plain: str
    latex: str
    on_white: bool = False
    small: bool = False

    @property
    def corners(self) -> tuple[Point, ...]:
        """What must be in the picture."""
        (x, y), half = self.at, HALF * len(self.plain)
        return (x - half, y - HIGH), (x + half, y + HIGH)

    @property
    def svg(self) -> str:
        """As SVG."""
        x, y = self.at
        fill = "black" if self.on_white else "currentColor"
        small = ' font-size="8"' * self.small
        return (
            f'<text x="{x:g}" y="{y + LOWER:g}" text-anchor="middle" fill="{fill}" '
            f'stroke="none"{small}>{escape(self.plain)}</text>'
        )

    @property
    def tikz(self) -> str:
        """As TikZ."""
        return rf"\node at ({self.at[0]:g},{self.at[1]:g}) {{{self.latex}}};"


@dataclass(frozen=True, slots=True)
class Circle:
    """A circle with letters in it."""

    at: Point
    plain: str
    latex: str

    @property
    def corners(self) -> tuple[Point, ...]:
        """What must be in the picture."""
        x, y = self.at
        return (x - RADIUS, y - RADIUS), (x + RADIUS, y + RADIUS)

    @property
    def svg(self) -> str:
        """As SVG, white under its letters on any ground; more than three letters are small."""
        x, y = self.at
        circle = f'<circle cx="{x:g}" cy="{y:g}" r="{RADIUS:g}" fill="white" stroke="black"/>'
        small = len(self.plain) > 3
        return circle + Writing(self.at, self.plain, self.latex, on_white=True, small=small).svg

    @property
    def tikz(self) -> str:
        """As TikZ."""
        x, y = self.at
        return (
            rf"\node[draw,circle,fill=white,inner sep=0pt,minimum size={2 * RADIUS:g}pt] "
            rf"at ({x:g},{y:g}) {{{self.latex}}};"
        )


@dataclass(frozen=True, slots=True)
class Line:
    """A line from one point to another, bent towards a third."""

    start: Point
    bend: Point
    end: Point
    thick: bool = True
    dotted: bool = False

    @property
    def corners(self) -> tuple[Point, ...]:
        """What must be in the picture; a curve stays between its ends and its bend."""
        return self.start, self.bend, self.end

    @property
    def svg(self) -> str:
        """As SVG."""
        (x, y), (a, b), (c, d) = self.start, self.bend, self.end
        style = ' stroke-width="1.6"' * self.thick + ' stroke-dasharray="1.5 3"' * self.dotted
        return f'<path d="M {x:g} {y:g} Q {a:g} {b:g} {c:g} {d:g}"{style}/>'

    @property
    def tikz(self) -> str:
        """As TikZ."""
        (x, y), (a, b), (c, d) = self.start, self.bend, self.end
        style = ",".join(["thick"] * self.thick + ["dotted"] * self.dotted)
        style = f"[{style}]" if style else ""
        return rf"\draw{style} ({x:g},{y:g}) .. controls ({a:g},{b:g}) .. ({c:g},{d:g});"


@dataclass(frozen=True, slots=True)
class Frame:
    """A rectangle with round corners between two points, dashed or filled with white."""

    low: Point
    high: Point
    dashed: bool = True

    @property
    def corners(self) -> tuple[Point, ...]:
        """What must be in the picture."""
        return self.low, self.high

    @property
    def corner(self) -> float:
        """The radius of its corners: dashed ones are as round as can be."""
        (x, y), (a, b) = self.low, self.high
        return min(a - x, b - y) / 2 if self.dashed else CORNER

    @property
    def svg(self) -> str:
        """As SVG."""
        (x, y), (a, b) = self.low, self.high
        style = 'stroke-dasharray="3 3"' if self.dashed else 'fill="white" stroke="black"'
        return (
            f'<rect x="{x:g}" y="{y:g}" width="{a - x:g}" height="{b - y:g}" '
            f'rx="{self.corner:g}" {style}/>'
        )

    @property
    def tikz(self) -> str:
        """As TikZ."""
        (x, y), (a, b) = self.low, self.high
        style = "dashed" if self.dashed else "fill=white"
        corners = f"rounded corners={self.corner:g}pt"
        return rf"\draw[{style},{corners}] ({x:g},{y:g}) rectangle ({a:g},{b:g});"


Shape: TypeAlias = Writing | Circle | Line | Frame


@dataclass(frozen=True, slots=True)
class Drawing:
    """Shapes, the later ones above the earlier ones; y counts downwards.

    Attributes:
        shapes: frames, lines, circles and writing.
    """

    shapes: tuple[Shape, ...]

    @property
    def box(self) -> tuple[Point, Point]:
        """The lowest and highest coordinates, with a margin."""
        points = [point for shape in self.shapes for point in shape.corners] or [(0.0, 0.0)]
        (left, right), (top, bottom) = ((min(c), max(c)) for c in zip(*points, strict=True))
        margin = MARGIN / 2
        return (left - margin, top - margin), (right + margin, bottom + margin)

    @property
    def svg(self) -> str:
        """The drawing as SVG."""
        (left, top), (right, bottom) = self.box
        width, height = right - left, bottom - top
        return "\n".join(
            [
                f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:g}" height="{height:g}" '
                f'viewBox="{left:g} {top:g} {width:g} {height:g}" '
                'fill="none" stroke="currentColor" font-family="serif" font-size="11">',
                *(shape.svg for shape in self.shapes),
                "</svg>",
            ]
        )

    @property
    def tikz(self) -> str:
        r"""The drawing as a `tikzpicture`, for ``\usepackage{tikz}``."""
        start = r"\begin{tikzpicture}[x=1pt,y=-1pt,every node/.style={font=\small}]"
        return "\n".join([start, *(shape.tikz for shape in self.shapes), r"\end{tikzpicture}"])

    def save(self, path: str | PathLike[str]) -> None:
        """Write the drawing to a file, as SVG, or as TikZ if its name ends with tex.

        Raises:
            InputError: if the name ends neither with svg nor with tex.
            OSError: if it cannot be written.
        """
        name = fspath(path)
        if not name.endswith((".svg", ".tex")):
            raise InputError(
                f"{name!r:.80} names no drawing. It was given to `save`. Let it end with .svg, or "
                "with .tex for TikZ."
            )
        write_whole(path, self.tikz if name.endswith(".tex") else self.svg)

    def _repr_svg_(self) -> str:
        return self.svg
