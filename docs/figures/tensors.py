"""The eleven tensors of order 1/n, drawn. Writes docs/tensors.svg."""

from pathlib import Path

from symdlt import correlators, draw

CELL, COLUMNS = (126, 128), 6


def drawn() -> str:
    """All drawings in one, with their names."""
    parts = []
    for number, one in enumerate(correlators(1)):
        x, y = CELL[0] * (number % COLUMNS), CELL[1] * (number // COLUMNS)
        name = f'<text x="52" y="92" text-anchor="middle" stroke="none">{one.name}</text>'
        parts.append(f'<g transform="translate({x + 20} {y + 20})">{draw(one).svg}{name}</g>')
    width, height = CELL[0] * COLUMNS, CELL[1] * 2
    frame = f'<rect width="{width}" height="{height}" fill="white"/>'
    style = 'font-family="serif" font-size="14"'
    start = f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" {style}>'
    return "\n".join([start, frame, *parts, "</svg>"]) + "\n"


if __name__ == "__main__":
    (Path(__file__).parent.parent / "tensors.svg").write_text(drawn(), "utf-8")
