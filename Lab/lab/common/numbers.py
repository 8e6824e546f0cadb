"""Statistics of what was measured, and figures in words."""

import statistics
from collections.abc import Iterable
from typing import Any


def median(values: Iterable[float | None]) -> Any:
    """The median of the values that aren't None; None if there are none."""
    found = [value for value in values if value is not None]
    return statistics.median(found) if found else None


def percentile(values: Iterable[float], part: float) -> float | None:
    values = sorted(values)
    return values[min(len(values) - 1, int(part * len(values)))] if values else None


def taken(seconds: list[float]) -> dict[str, float]:
    """How long several things took, in ms."""
    return {"median": statistics.median(seconds) * 1e3, "p95": statistics.quantiles(seconds, n=20)[-1] * 1e3,
            "longest": max(seconds) * 1e3}


def number(value: float | None, digits: int = 1, unit: str = "") -> str:
    return "–" if value is None else f"{value:.{digits}f}{unit}"


def rounded(value: Any) -> Any:
    """Rounds all figures of an entry to meaningful digits."""
    if isinstance(value, float):
        return None if value in (float("inf"), float("-inf")) else round(value, 3)
    if isinstance(value, dict):
        return {key: rounded(one) for key, one in value.items()}
    if isinstance(value, list):
        return [rounded(one) for one in value]
    return value
