"""Tables for people, at a terminal and in Lab/results, and whether an aim is reached."""

from collections.abc import Iterable, Sequence


def text(rows: Iterable[Sequence[object]], head: Sequence[str]) -> str:
    """A table with columns as wide as their content; the first aligned left, the others right."""
    cells = [list(head)] + [["–" if cell is None else str(cell) for cell in row] for row in rows]
    widths = [max(len(row[column]) for row in cells) for column in range(len(head))]
    lines = []
    for row in cells:
        first, *rest = [cell.ljust(width) if column == 0 else cell.rjust(width)
                        for column, (cell, width) in enumerate(zip(row, widths, strict=True))]
        lines.append("  ".join([first, *rest]).rstrip())
    return "\n".join(lines)


def markdown(rows: Iterable[Sequence[str]], head: Sequence[str]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in line) + " |"
                     for line in lines)


# --- Aims -------------------------------------------------------------------------------------------------------------

AIM_HEAD = ["", "aim", "measured", "reached"]


def yes(is_reached: object) -> str:
    return "yes" if is_reached else "no"


def judged(what: str, aim: str, measured: str, is_reached: object) -> list[str]:
    """A row below AIM_HEAD."""
    return [what, aim, measured, yes(is_reached)]


def met(value: float | None, limit: float | None, more_is_better: bool = False) -> str:
    """Not judged without a value or a limit."""
    if limit is None or value is None:
        return "not judged"
    return "met" if (value >= limit if more_is_better else value <= limit) else "NOT MET"
