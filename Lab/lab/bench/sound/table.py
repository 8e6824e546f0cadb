"""The table of `Scripts/bench sound`, and whether each aim is reached."""

from collections.abc import Iterable, Iterator
from typing import Any

from lab.common import tables
from lab.common.numbers import median, number

#: What others hold back by their own documentation, in ms: scrcpy's --audio-buffer, and Moonlight's queue of audio.
PEERS = {"scrcpy": 50, "Moonlight": 30}
SERVERS = {"pulse": "PulseAudio", "pipewire": "PipeWire"}
HEAD = ["", "", "measured", "aim", "", *(f"{name}'s buffer" for name in PEERS)]

TITLES = {"loss1": "1 % loss", "loss5": "5 % loss", "bursts": "10 % in bursts of 8", "jitter": "30 ms of jitter",
          "narrow": "500 kbit/s"}
#: The share of the time that may be concealed, in %. At 500 kbit/s sound is to be whole: no more than 1 % loss takes.
CONCEALED = {"loss1": 0.05, "loss5": 0.3, "bursts": 2, "jitter": 0.5, "narrow": 0.05}
#: In ms.
GAP = 20
#: A figure of the picture with sound counts as unchanged up to this factor, which runs without sound reach by chance, too.
UNCHANGED = 1.05
#: Of two samples of a file with 16 bits, in parts of full scale.
ROUNDING = 2 / 32768
#: For more than one PipeWire server on the way, in ms.
PIPEWIRE = 20


#: The aim of what couldn't be measured.
NEVER = object()


class Line:
    """A row for people. `limit` is None where there is no aim."""

    def __init__(self, words: str, value: float | None, limit: Any = None, unit: str = " ms", digits: int = 1,
                 more_is_better: bool = False, peers: bool = False, beside: str = "") -> None:
        self.words, self.value, self.limit, self.unit, self.digits = words, value, limit, unit, digits
        self.more_is_better, self.peers, self.beside = more_is_better, peers, beside

    def verdict(self) -> str:
        if self.limit is None:
            return ""
        if self.value is None:
            return "NOT MET"
        return tables.met(self.value, self.limit, self.more_is_better)

    def cells(self, server: str) -> list[str]:
        sign = "≥ " if self.more_is_better else "≤ "
        aim = "" if self.limit in (None, NEVER) else sign + number(self.limit, self.digits, self.unit)
        return [self.words, SERVERS[server], number(self.value, self.digits, self.unit) + self.beside, aim, self.verdict(),
                *(f"{value} ms" if self.peers else "" for value in PEERS.values())]


def _lines(name: str, found: dict[str, Any], server: str) -> list[Line]:
    if "trouble" in found:
        # No figure, and no aim that is reached without one.
        return [Line(f"{name}: couldn't be measured", None, NEVER)]
    return LINES[name](found, server)


def _all(found: dict[str, Any]) -> list[tuple[Line, str]]:
    return [(line, server) for name in LINES for server in SERVERS if server in found.get(name, {})
            for line in _lines(name, found[name][server], server)]


def table(found: dict[str, Any]) -> list[list[str]]:
    return [line.cells(server) for line, server in _all(found)]


def figures(found: dict[str, Any]) -> Iterator[tuple[str, str, Line]]:
    """What has a figure: its words, with those of the line that it belongs to; the server; and the line."""
    head = ""
    for line, server in _all(found):
        head = head if line.words.startswith(" ") else line.words
        if line.value is not None:
            yield (f"{head}: {line.words.strip()}" if line.words.startswith(" ") else line.words), SERVERS[server], line


def lines(found: dict[str, Any]) -> list[list[str]]:
    """As other benchmarks have them for the manual: what and where, its aim, what was measured, and whether it is reached."""
    return [[f"{words}, {server}", aim, measured, verdict] for words, server, measured, aim, verdict, *_ in table(found)]


# --- Rows


def clicks(found: dict[str, Any], server: str) -> list[Line]:
    more = PIPEWIRE if server == "pipewire" else 0
    own = found["calibration"]
    shown = []
    for name, words in (("playing", "click at the host to the viewer's sink, quiet LAN"),
                        ("silence", "the same out of silence")):
        part = found.get(name)
        if part:
            unheard = part["sent"] - part["count"]
            beside = f" ({part['count']} clicks" + (f", {unheard} not heard)" if unheard else ")")
            shown += [Line(f"{words}: median", part["median"], 35 + more, peers=True, beside=beside),
                      Line("  95th percentile", part["p95"], 45 + more),
                      Line("  median without the rig's own", part["median"] - own["median"])]
    return shown + [Line("  the rig's own: player, sink and recorder at one end: median", own["median"]),
                    Line("  95th percentile", own["p95"])]


def skew(found: dict[str, Any], server: str) -> list[Line]:
    told = found.get("told", {}).get("driftPpm")
    words = f"sound to picture over {found['seconds']:g} s, clock {found['ppm']} ppm fast: median"
    own = found["calibration"]
    return [
        Line(words, found["skew"]["median"], 10, beside=f" ({found['found']} flashes)"),
        Line("  95th percentile", found["skew"]["p95"], 20),
        Line("  median with its sign (positive: the sound is later)", found["signed_median"]),
        Line("  in the first tenth", found["first"]),
        Line("  in the last tenth", found["last"]),
        Line("  largest change of the sound's delay from beep to beep", found["largest_step"]),
        Line("  drift by the viewer's count", told, unit=" ppm", digits=0),
        Line("  the rig's own skew: player, sink and recorder without a program", own["signed_median"]),
    ]


def losses(found: dict[str, Any], server: str) -> list[Line]:
    shown = []
    for name, pairs in found.items():
        heard = [pair["sound"] for pair in pairs]
        shown.append(Line(f"{TITLES[name]}: concealed, by the viewer's count", middle(heard, "concealed"), CONCEALED[name],
                          " %", 3))
        gaps = [one["longest_gap"] for one in heard if one["longest_gap"] is not None]
        shown.append(Line("  longest gap in a steady tone", max(gaps, default=None),
                          GAP if name in ("loss5", "narrow") else None))
        shown += picture(name, [pair for pair in pairs if "off" in pair])
    return shown


def picture(name: str, pairs: list[dict[str, Any]]) -> Iterator[Line]:
    """The picture's figures with sound, divided by those without; of several pairs the median."""
    for key, words, better in (("fps", "frames a second", True), ("median", "median latency", False),
                               ("legible_after", "until text is legible", False),
                               ("join_after", "the same for who joins", False)):
        both = [(pair["on"].get(key), pair["off"][key]) for pair in pairs if pair["off"].get(key)]
        if not both:
            continue
        # What never came with sound, and does without, has no figure and doesn't reach the aim.
        lacks = any(one is None for one, _ in both)
        with_, without = (median([pair[side] for pair in both]) for side in (0, 1))
        yield Line(f"  picture with sound beside without: {words}",
                   None if lacks else median([one / other for one, other in both]),
                   1 / UNCHANGED if better else UNCHANGED, "", 2, better, beside=f" ({number(with_)} / {number(without)})")


def cpu(found: dict[str, Any], server: str) -> list[Line]:
    return [Line(f"processor time of the {end}: with sound minus without", found[end], 2, " %", 2)
            for end in ("host", "viewer")] + [
        Line(f"  of the {end}'s sound server", found[f"{end}_server"], unit=" %", digits=2) for end in ("host", "viewer")]


def music(found: dict[str, Any], server: str) -> list[Line]:
    steps = found["steps"]
    return [
        Line("music over 1 % loss beside a clean link: SNR outside concealed frames", found["snr"]["2"], 35, " dB",
             beside=f" ({found['bursts']} bursts, {found['differing']} of {found['frames']} frames differ)",
             more_is_better=True),
        *(Line(f"  without the {after} frames from each loss on", found["snr"][after], unit=" dB")
          for after in ("3", "6", "12")),
        Line("  with concealed frames", found["snr_all"], unit=" dB"),
        Line("  largest step between samples beside the original's and the clean one's",
             (steps["lossy"] - ROUNDING) / max(steps["original"], steps["clean"]), 1, "", 3),
        Line("  the same at the sink",
             (steps["loudspeaker"] - ROUNDING) / max(steps["original_left"], steps["clean_left"]), 1, "", 3),
        Line("  largest step beyond those of the clean one within 30 ms, in parts of full scale", steps["beyond"], unit="",
             digits=3),
        Line("  what Opus costs: SNR of the clean one to the original", found["codec_snr"], unit=" dB"),
    ]


def film(found: dict[str, Any], server: str) -> list[Line]:
    shown = []
    for suffix in ("mkv", "mp4"):
        if suffix in found:
            recording, live = found[suffix]["recording"], found[suffix]["live"]
            shown += [Line(f"a film's flash and beep in a recording (.{suffix}): largest distance", recording["max"], 20,
                           beside=f" ({recording['count']} of {recording['flashes']})"),
                      Line("  at the window and the sink: median", live["median"], 20),
                      Line("  95th percentile", live["p95"])]
    return shown + [Line("  the film itself", found["made"]["max"])]


def faults(found: dict[str, Any], server: str) -> list[Line]:
    words = {"host_server": "the host's sound server is killed and starts again: sound after",
             "viewer_server": "the viewer's: sound after", "default_sink": "another default sink at the host: heard after"}
    shown = [Line(text, found[name]["seconds"], 10, " s") for name, text in words.items() if name in found]
    if "default_sink" in found:
        shown.append(Line("  amplitude of what the old one plays, a second later", found["default_sink"]["old_tone"],
                          0.01, "", 3))
    if "two_viewers" in found:
        both = found["two_viewers"]
        shown += [Line("two viewers, one muted: amplitude at its sink", both["muted"], 0.001, "", 4),
                  Line("  at the other's", both["loud"], 0.2, "", 3, more_is_better=True)]
    if "no_server" in found:
        shown.append(Line("no sound server at all: frames a second beside those with one", found["no_server"]["ratio"], 0.95,
                          "", 2, more_is_better=True))
    return shown


def middle(rows: Iterable[dict[str, Any]], key: str) -> Any:
    return median([row.get(key) for row in rows if row])


LINES = {"clicks": clicks, "skew": skew, "networks": losses, "cpu": cpu, "music": music, "film": film, "faults": faults}


# --- The short form: does it work at all?


def wrong(name: str, found: dict[str, Any]) -> list[str]:
    """In words, what can't be right in a short run on a busy machine; none if nothing is."""
    checks = {
        "clicks": lambda one: one["playing"]["count"] < 0.7 * one["playing"]["sent"] or one["playing"]["median"] > 300,
        "skew": lambda one: one["found"] < 0.6 * one["flashes"] or one["skew"]["median"] > 100,
        "networks": lambda one: any(
            pair["sound"]["longest_gap"] is None or pair["sound"]["longest_gap"] > 500 or pair["sound"]["concealed"] is None
            or pair["sound"]["concealed"] > 20 for pairs in one.values() for pair in pairs),
        "cpu": lambda one: one["host"] > 20 or one["viewer"] > 20,
        # A busy machine answers late, so the host may think that the path of one viewer is slow, and halve its rate. The two
        # viewers hear different encodings then, which are about 15 dB from each other.
        "music": lambda one: one["snr"]["12"] < 8 or one["codec_snr"] < 5,
        "film": lambda one: any(part["recording"]["count"] < 2 or part["recording"]["median"] > 60
                                for suffix, part in one.items() if suffix != "made"),
        "faults": lambda one: any(part.get("seconds", 0) is None or (part.get("ratio") or 1) < 0.5
                                  for part in one.values()),
    }
    return [f"{name}, {SERVERS[server]}" for server, one in found.items()
            if "trouble" in one or checks[name](one)]
