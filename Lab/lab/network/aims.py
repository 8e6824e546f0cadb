"""The aims for each network, and whether a run reaches them."""

from typing import Any

from lab.common import tables
from lab.common.numbers import median, number
from lab.network import networks, report

# The time of a frame at 30 a second, in ms: a gap of that length is normal.
FRAME = 1000 / 30


# Used as a time for something that never happened.
NEVER = 9999


class Aim:
    def __init__(self, network: str, words: str, value: float | None, limit: float | None, more_is_better: bool = False,
                 digits: int = 1) -> None:
        self.network, self.words, self.value, self.limit = network, words, value, limit
        self.more_is_better, self.digits = more_is_better, digits

    def verdict(self) -> str:
        return tables.met(self.value, self.limit, self.more_is_better)

    def row(self, is_first: bool) -> list[str]:
        value = "never" if self.value is not None and self.value >= NEVER else number(self.value, self.digits)
        return [networks.named(self.network).title if is_first else "", self.words, value,
                ("≥ " if self.more_is_better else "≤ ") + number(self.limit, self.digits), self.verdict()]


def of(entry: dict[str, Any], system: str = "beamroom") -> list[Aim]:
    def get(network: str, name: str) -> Any:
        return report.figure(entry, network, system, name)

    def told(network: str, *names: str) -> Any:
        return report.told(entry, network, system, "viewer", *names)

    def or_never(network: str, name: str) -> Any:
        """Counts a run without a value as NEVER, not as a missing figure."""
        runs = [run for run in entry["networks"].get(network, {}).get(system, []) if run]
        return median([NEVER if run.get(name) is None else run[name] for run in runs])

    def plus(value: float | None, more: float) -> float | None:
        return None if value is None else value + more

    def times(value: float | None, factor: float) -> float | None:
        return None if value is None else value * factor

    def stood(network: str) -> float | None:
        return plus(get(network, "longest_gap"), -FRAME)

    found = [
        Aim("clean", "keyframes beside the first", plus(told("clean", "keyframes"), -1), 0, digits=0),
        Aim("clean", "repaired by parity", told("clean", *report.REPAIRED), 0, digits=0),
        Aim("clean", "median ms (the version before + 1)", get("clean", "median"),
            plus(report.figure(entry, "clean", "before", "median"), 1)),
        Aim("clean", "Mbit/s (the version before + 5 %)", get("clean", "mbit"),
            times(report.figure(entry, "clean", "before", "mbit"), 1.05), digits=2),
        Aim("loss1", "longest standing still, ms", stood("loss1"), 50, digits=0),
        # Painting and capturing run at nearly the same rate, so some frames are missed even without loss.
        Aim("loss1", "frames never shown, % (without loss + 0.5)", get("loss1", "unseen"),
            plus(get("clean5", "unseen"), 0.5)),
        Aim("loss1", "median ms (without loss + one round trip)", get("loss1", "median"),
            plus(get("clean5", "median"), 2 * networks.named("loss1").delay)),
        Aim("loss5", "frozen, % of the time", get("loss5", "frozen"), 0.5),
        Aim("loss5", "broken pictures, %", get("loss5", "broken"), 0),
        Aim("bursts", "frozen, % of the time", get("bursts", "frozen"), 3),
        Aim("bursts", "broken pictures, %", get("bursts", "broken"), 0),
        Aim("bursts", "keyframe requests in 5 s", per_five_seconds(entry, system, "bursts"), 1),
        Aim("jitter", "frozen, % of the time", get("jitter", "frozen"), 1),
        Aim("jitter", "frames lost, by the viewer's count", told("jitter", *report.LOST), 0, digits=0),
        Aim("drop", "largest latency from 1 s after the drop on, ms", or_never("drop", "slow_latency"), 150, digits=0),
        Aim("drop", "half seconds without a new picture then", get("drop", "slow_without"), 0, digits=0),
        Aim("drop", "full quality again after, s", or_never("drop", "full_after"), 5),
        Aim("drop", "half seconds far from the settled quality, %", swinging(entry, system), 10),
        Aim("drop", "least rate once settled, Mbit/s", get("drop", "least_mbit"), 1, more_is_better=True),
        Aim("narrow", "text that comes up is legible after, s", or_never("narrow", "legible_after"), 3),
        Aim("narrow", "text is legible to who joins after, s", or_never("narrow", "join_after"), 3),
        Aim("narrow", "largest latency of a small change, ms", or_never("narrow", "max"), 300, digits=0),
        Aim("down", "first picture after the link's return, ms", or_never("down", "picture_after"), 300, digits=0),
        Aim("down", "first live picture, ms", or_never("down", "live_after"), 300, digits=0),
    ]
    for network, limit in (("typing1", 5), ("typing5", 15), ("typingbursts", 60)):
        found += [
            Aim(network, "median until a letter is exact, ms", or_never(network, "median"), limit),
            Aim(network, "letters that never are, %", get(network, "unseen"), 0),
            Aim(network, "looks at a letter that is wrong, or what was there before", plus(
                get(network, "wrong"), get(network, "reverted") or 0), 0, digits=0),
        ]
    return [aim for aim in found if system in entry["networks"].get(aim.network, {})]


def per_five_seconds(entry: dict[str, Any], system: str, network: str) -> float | None:
    """Over all of the viewer's time, which is some seconds longer than the measurement."""
    asked, seconds = (report.told(entry, network, system, "viewer", *names) for names in (report.ASKED, ("t",)))
    return None if asked is None or not seconds else asked / seconds * 5


def swinging(entry: dict[str, Any], system: str) -> float | None:
    swings, windows = (report.figure(entry, "drop", system, name) for name in ("swings", "windows"))
    return None if swings is None or not windows else 100 * swings / windows


def show(entry: dict[str, Any]) -> None:
    rows, last = [], None
    for aim in of(entry):
        rows.append(aim.row(aim.network != last))
        last = aim.network
    if rows:
        print(tables.text(rows, ["BeamRoom's aims", "", "measured", "wanted", ""]))
