"""The stored results: one JSON line a run, with its commit and machine."""

import datetime
import json
import os
import subprocess
from typing import Any

from lab.common.paths import HISTORY, ROOT


def machine() -> dict[str, Any]:
    """The properties of the machine that figures depend on."""
    with open("/proc/cpuinfo") as file:
        cpu = next((line.split(":", 1)[1].strip() for line in file if line.startswith("model name")), "unknown")
    with open("/proc/meminfo") as file:
        memory = next(int(line.split()[1]) for line in file if line.startswith("MemTotal:"))
    return {"cpu": cpu, "cores": len(os.sched_getaffinity(0)), "memory_gib": round(memory / 2**20, 1),
            "kernel": os.uname().release}


def describe(machine: dict[str, Any]) -> str:
    return f"{machine['cpu']}, {machine['cores']} cores, {machine['memory_gib']:.0f} GiB, Linux {machine['kernel']}"


def is_same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether two entries are of one machine, whatever its kernel and memory."""
    return (one["cpu"], one["cores"]) == (other["cpu"], other["cores"])


def commit() -> str:
    """The commit that was measured; `-dirty` where files differ from it."""
    run = subprocess.run(["git", "describe", "--always", "--dirty", "--abbrev=12", "--match="], cwd=ROOT,
                         capture_output=True, text=True)
    return run.stdout.strip() if run.returncode == 0 else "unknown"


def entry(**results: Any) -> dict[str, Any]:
    now = datetime.datetime.now(datetime.UTC)
    return {"date": now.strftime("%Y-%m-%dT%H:%MZ"), "commit": commit(), "machine": machine(), **results}


def source(entry: dict[str, Any]) -> str:
    """Where and when an entry was measured, in words."""
    return f"{describe(entry['machine'])}; commit {entry['commit'][:12]}, {entry['date'][:10]}."


def read(kind: str) -> list[dict[str, Any]]:
    """Every entry of one kind, the name of a benchmark that keeps a history, or `netlab`: oldest first."""
    path = HISTORY / f"{kind}.jsonl"
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text().splitlines() if line.strip()]


def append(kind: str, entry: dict[str, Any]) -> None:
    HISTORY.mkdir(parents=True, exist_ok=True)
    with open(HISTORY / f"{kind}.jsonl", "a") as file:
        file.write(json.dumps(entry, separators=(",", ":"), ensure_ascii=False) + "\n")
