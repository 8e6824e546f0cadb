"""The stored results: one JSON line a run, with its commit and machine."""

import datetime
import json
import os
import pathlib
import statistics
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[3]
LAB = ROOT / "Lab"
HISTORY = LAB / "results" / "history"


def machine():
    """The properties of the machine that figures depend on."""
    cpu = "unknown"
    for line in open("/proc/cpuinfo"):
        if line.startswith("model name"):
            cpu = line.split(":", 1)[1].strip()
            break
    memory = next(int(line.split()[1]) for line in open("/proc/meminfo") if line.startswith("MemTotal:"))
    return {"cpu": cpu, "cores": len(os.sched_getaffinity(0)), "memory_gib": round(memory / 2**20, 1),
            "kernel": os.uname().release}


def describe(machine):
    return f"{machine['cpu']}, {machine['cores']} cores, {machine['memory_gib']:.0f} GiB, Linux {machine['kernel']}"


def is_same(one, other):
    """Whether two entries are of one machine, whatever its kernel and memory."""
    return (one["cpu"], one["cores"]) == (other["cpu"], other["cores"])


def commit():
    """The commit that was measured; `-dirty` where files differ from it."""
    run = subprocess.run(["git", "describe", "--always", "--dirty", "--abbrev=12", "--match="], cwd=ROOT,
                         capture_output=True, text=True)
    return run.stdout.strip() if run.returncode == 0 else "unknown"


def entry(**results):
    now = datetime.datetime.now(datetime.timezone.utc)
    return {"date": now.strftime("%Y-%m-%dT%H:%MZ"), "commit": commit(), "machine": machine(), **results}


def read(kind):
    """Every entry of one kind (`micro`, `glass`, `netlab`, `crowd`, `words`, `room` or `sound`), oldest first."""
    path = HISTORY / f"{kind}.jsonl"
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text().splitlines() if line.strip()]


def append(kind, entry):
    HISTORY.mkdir(exist_ok=True)
    with open(HISTORY / f"{kind}.jsonl", "a") as file:
        file.write(json.dumps(entry, separators=(",", ":"), ensure_ascii=False) + "\n")


def median(values):
    """The median of the values that aren't None; None if there are none."""
    values = [value for value in values if value is not None]
    return statistics.median(values) if values else None


def table(rows, head):
    """A table with columns as wide as their content; the first aligned left, the others right."""
    cells = [head] + [[cell if isinstance(cell, str) else "–" if cell is None else str(cell) for cell in row]
                      for row in rows]
    widths = [max(len(row[column]) for row in cells) for column in range(len(head))]
    lines = []
    for row in cells:
        first, *rest = [cell.ljust(width) if column == 0 else cell.rjust(width)
                        for column, (cell, width) in enumerate(zip(row, widths))]
        lines.append("  ".join([first, *rest]).rstrip())
    return "\n".join(lines)


def number(value, digits=1, unit=""):
    return "–" if value is None else f"{value:.{digits}f}{unit}"
