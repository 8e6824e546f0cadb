"""The tables in Lab/results and in README.md, each between two marks that say what writes it."""

import datetime
import os
import pathlib
import subprocess
from typing import Any

from lab.common.paths import RESULTS, ROOT
from lab.common.trouble import Trouble

END = "<!-- end of figures -->"


def split(path: pathlib.Path, writer: str) -> tuple[str, str, str]:
    """A page's text before, between and after the marks of what writes it."""
    begin, text = f"<!-- figures: written by {writer} -->", path.read_text()
    first, last = text.find(begin), text.find(END)
    if first < 0 or last < first:
        raise Trouble(f"{path.name} lacks the lines “{begin}” and “{END}”, between which its figures belong.")
    first += len(begin)
    return text[:first], text[first:last], text[last:]


def write(name: str, writer: str, text: str) -> None:
    """Writes the table of a file in Lab/results."""
    before, _, after = split(RESULTS / name, writer)
    (RESULTS / name).write_text(f"{before}\n{text}\n{after}")


def machine() -> dict[str, Any]:
    """Where rows were made, for their table."""
    system = os.uname()
    commit = subprocess.run(["git", "-C", ROOT, "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True)
    date = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d")
    return {"cores": os.cpu_count(), "system": f"{system.sysname} {system.release}",
            "commit": commit.stdout.strip() or "unknown", "date": date}
