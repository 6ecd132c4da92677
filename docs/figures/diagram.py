"""A term of the recursion of D with its diagram. Writes docs/diagram.svg."""

from pathlib import Path

from symdlt import derive, draw

TERM = 24  # the one in which V and the NTK of layer ℓ meet


def drawn() -> str:
    """The diagram on a white ground."""
    svg = draw(derive("D").terms[TERM]).svg
    return svg.replace(">", ' style="background:white">', 1) + "\n"


if __name__ == "__main__":
    (Path(__file__).parent.parent / "diagram.svg").write_text(drawn(), "utf-8")
