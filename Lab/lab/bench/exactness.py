"""The contents of `Scripts/bench glass` whose changes are looked for in every pixel, and their tables."""

from collections.abc import Callable
from typing import Any

from lab.common.numbers import number

#: What changes, for a table's head.
HEADINGS = {
    "typing": "a letter, 20 a second",
    "lines": "800x600 of text, a line up 30 times a second",
    "drag": "a window of 400x300 moved 30 times a second",
    "pointer": "the pointer, 60 moves a second",
    "rest": "9/16 of the screen, each 2 s",
}
CONTENTS = tuple(HEADINGS)
#: Seconds at rest that are measured behind the last change, if a run is long enough.
REST = 10.0

Figures = dict[str, Any]
#: A figure of a system by its name.
Get = Callable[[str], float | None]


def rest(content: str, seconds: float) -> float:
    return min(REST, 2 * seconds) if content == "rest" else 0


def share(found: Figures) -> float | None:
    """How many of the changes were seen, in %."""
    whole = found.get("count", 0) + found.get("missed", 0)
    return 100 * found["count"] / whole if whole else None


def figures(found: Figures) -> Figures:
    """Of one run, what is kept beside what all contents have."""
    exact, seen = found.get("exact", {}), found.get("seen", {})
    rested = found.get("rest") or {}
    return {
        "median": exact.get("median"), "p95": exact.get("p95"), "missed": exact.get("missed"),
        "exact_share": share(exact), "seen_median": seen.get("median"), "seen_p95": seen.get("p95"),
        "seen_share": share(seen), "equal_later": found.get("equal_later"), "equal_last": found.get("equal_last"),
        "settled": found.get("settled"), "rest_mbit": rested.get("mbit"),
    }


def kbit(mbit: float | None) -> str:
    return number(mbit and 1000 * mbit, 0)


def pair(first: str, second: str) -> str:
    return f"{first} / {second}"


def moving_row(title: str, get: Get) -> list[str]:
    return [title, number(get("median")), number(get("p95")), number(get("exact_share"), 0),
            pair(number(get("seen_median")), number(get("seen_p95"))), number(get("seen_share"), 0),
            pair(number(get("cpu_host"), 0), number(get("cpu_viewer"), 0)), kbit(get("mbit")),
            number(get("settled"), 0), number(get("equal_last"), 2)]


def resting_row(title: str, get: Get) -> list[str]:
    return [title, number(get("median"), 0), number(get("p95"), 0), number(get("exact_share"), 0),
            number(get("equal_later"), 2), pair(number(get("cpu_host"), 0), number(get("cpu_viewer"), 0)),
            kbit(get("mbit")), kbit(get("rest_mbit")), number(get("rest_cpu"))]


def table(content: str, systems: dict[str, Get]) -> tuple[list[list[str]], list[str]]:
    """The rows of a content's table, and its head; `systems` are their titles with their figures."""
    if content == "rest":
        head = [HEADINGS[content], "exact: median ms", "p95", "% of changes", "% of pixels after 0.3 s",
                "CPU % host / viewer", "kbit/s", "kbit/s at rest", "CPU %"]
        return [resting_row(*system) for system in systems.items()], head
    head = [HEADINGS[content], "exact: median ms", "p95", "% of changes", "seen: median / p95", "%",
            "CPU % host / viewer", "kbit/s", "the last one: exact after ms", "% of pixels after 1.5 s"]
    return [moving_row(*system) for system in systems.items()], head
