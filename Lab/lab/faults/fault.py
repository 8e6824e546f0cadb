"""One fault: what is done, what came of it, and whether that is as aimed."""

from __future__ import annotations

import dataclasses
import pathlib
import re
import signal
import time
import traceback
from typing import Any

from lab.common.catalogue import Case
from lab.common.programs import Program
from lab.common.trouble import Trouble
from lab.faults import place as places
from lab.faults.place import Place

# Seconds of a picture that stands still until the viewer has to say so: the program's second, and this machine's.
SPEAKS_WITHIN = 2.0
# In the short form another test may take the machine: only what hangs counts.
SHORT_SLACK = 10
# Words that aren't true while the picture stands.
LIES = re.compile(r"(picture|stream) (goes on(?! when)|moves again|is back|is live)", re.IGNORECASE)


class Fault(Case):
    """One fault."""

    # Seconds from the fault's end until the picture is right again; None if it needn't be.
    right_within: float | None = 2.0
    # Seconds that the picture may stand; None: as long as the fault lasts.
    stands_at_most: float | None = None
    # What an end has to say: a regular expression, or True for any word.
    says: dict[str, Any] = {}
    # The exit status of an end that has to end by the fault.
    ends: dict[str, int] = {}
    # False if the viewer can't say that the picture stands, because it is stopped itself.
    viewer_can_speak = True
    # Every picture has the pattern's code. (On a screen a window may be drawn in part.)
    is_pattern = True

    def play(self, place: Place, row: Row) -> None:
        raise NotImplementedError

    @classmethod
    def aim(cls) -> str:
        words = []
        if cls.right_within is not None:
            words.append(f"right after {cls.right_within:g} s")
        if cls.stands_at_most is not None:
            words.append(f"stands {cls.stands_at_most:g} s at the most")
        words += [f"the {end} ends with {status}" for end, status in cls.ends.items()]
        return ", ".join(words) or "–"


# A number; None if it wasn't measured.
Figure = Any


@dataclasses.dataclass
class Row:
    """The result of one fault."""
    name: str
    happens: str
    aim: str
    host_says: list = dataclasses.field(default_factory=list)
    viewer_says: list = dataclasses.field(default_factory=list)
    # Seconds: the longest time without a new picture, until the viewer said something of it, and from the fault's end
    # until the picture was right.
    stood: Figure = None
    said_after: Figure = None
    right: Figure = None
    host_ended: str = "runs"
    viewer_ended: str = "runs"
    # More figures, in words.
    notes: list = dataclasses.field(default_factory=list)
    differences: list = dataclasses.field(default_factory=list)
    # Why it couldn't be tried.
    not_tried: str | None = None
    seconds: Figure = None

    @property
    def is_well(self) -> bool:
        return not self.differences

    # --- While it happens: the times of the fault's begin and end, and of the picture that is right

    def begin(self) -> None:
        self.begun: float = time.monotonic()
        # None while the fault lasts.
        self.ended: float | None = None

    def over(self) -> None:
        self.ended = time.monotonic()

    def wait_right(self, place: Place, seconds: float = 20, most_age: float = 1.0) -> None:
        """Waits until the picture is right after the fault's end."""
        if self.ended is None:
            # It lasts: the picture is to be right in spite of it.
            self.ended = self.begun
        at = place.wait(lambda: place.pictures.right(self.ended, most_age) or place.viewer.fate, seconds)
        at = place.pictures.right(self.ended, most_age)
        self.right = at and at - self.ended
        # What is said of it may come a moment later.
        time.sleep(1)


class NotTried(Exception):
    """This machine or this program lacks something."""


def how_it_ended(program: Program) -> str:
    status = program.process.poll()
    if status is None:
        return "runs"
    return signal.Signals(-status).name if status < 0 else f"exit {status}"


def said(place: Place, end: str, since: float) -> list[tuple[float, str]]:
    """The times and sentences of all programs of this end, without repetition."""
    found, texts = [], set()
    for program in place.programs:
        if place.ends[program] != end:
            continue
        for at, text in list(program.said):
            if at >= since and text and text not in texts:
                texts.add(text)
                found.append((at, text.replace(str(place.directory), "")))
    return sorted(found)


def conclude(fault: Fault, place: Place, row: Row) -> None:
    """Fills the row with what was seen, and with what was different from its aim."""
    host, viewer = said(place, "host", row.begun), said(place, "viewer", row.begun)
    slack = SHORT_SLACK if place.is_short else 1
    row.host_says, row.viewer_says = [text for _, text in host], [text for _, text in viewer]
    now = time.monotonic()
    if place.pictures and place.pictures.all:
        begin, end = place.pictures.gap(row.begun, now)
        row.stood = end - begin
        if row.stood > slack * SPEAKS_WITHIN and fault.viewer_can_speak:
            # Its cause may be known a moment before the last picture comes.
            first = next((at for at, _ in viewer if begin - 1 <= at), None)
            row.said_after = None if first is None else max(0.0, first - begin)
            is_silent = first is None or first > end
            if place.viewer.process.poll() is None and (is_silent or row.said_after > slack * SPEAKS_WITHIN):
                row.differences.append(
                    f"the viewer says nothing while the picture stands for {row.stood:.1f} s" if is_silent
                    else f"the viewer speaks only after {row.said_after:.1f} s")
        row.differences += [f"untrue: “{text}”" for at, text in viewer
                            if at < now - 1 and LIES.search(text) and not place.pictures.since(at + 0.3, at + 1)]
        broken = place.pictures.broken(row.begun)
        if broken and fault.is_pattern:
            row.differences.append(f"{broken} broken pictures")
    if fault.right_within is not None:
        if row.right is None:
            row.differences.append("the picture isn't right again")
        elif row.right > slack * fault.right_within:
            row.differences.append(f"right only after {row.right:.1f} s")
    if fault.stands_at_most is not None and (row.stood or 0) > slack * fault.stands_at_most:
        row.differences.append(f"the picture stands for {row.stood:.1f} s")
    for end, wanted in fault.says.items():
        texts = row.host_says if end == "host" else row.viewer_says
        if not any(wanted is True or re.search(wanted, text, re.IGNORECASE) for text in texts):
            row.differences.append(f"the {end} doesn't say it" if texts else f"the {end} says nothing")
    judge_ends(fault, place, row)


def judge_ends(fault: Fault, place: Place, row: Row) -> None:
    for end in ("host", "viewer"):
        program = getattr(place, end)
        if program is None:
            setattr(row, f"{end}_ended", "–")
            continue
        ended = how_it_ended(program)
        wanted = f"exit {fault.ends[end]}" if end in fault.ends else "runs"
        setattr(row, f"{end}_ended", ended)
        if ended != wanted:
            row.differences.append(f"the {end}: {ended}, not {wanted}")
    # Ctrl-C has to end what runs.
    for end in ("viewer", "host"):
        program = getattr(place, end)
        if program and program.process.poll() is None:
            program.end()
            if program.process.returncode < 0:
                row.differences.append(f"the {end} doesn't end by Ctrl-C")


def play_once(kind: type[Fault], options: Any, shared: pathlib.Path) -> Row:
    fault, row = kind(), Row(kind.name, kind.title(), kind.aim())
    begin = time.monotonic()
    row.begin()
    try:
        with places.Place(options, shared) as place:
            try:
                fault.play(place, row)
            except RuntimeError as error:
                row.differences.append(str(error).strip())
            conclude(fault, place, row)
    except (NotTried, Trouble) as reason:
        row.not_tried = str(reason)
    except Exception as error:
        # The laboratory failed, so the row says nothing about the program.
        row.differences.append(f"unclear: {type(error).__name__}: {error}")
        traceback.print_exc()
    row.seconds = time.monotonic() - begin
    return row


def play(kind: type[Fault], options: Any, shared: pathlib.Path) -> Row:
    """One row. What differs is tried again if it doesn't take long: the machine may have been busy, and what is wrong
    is wrong again."""
    row = play_once(kind, options, shared)
    if row.is_well or row.seconds > 60:
        return row
    again = play_once(kind, options, shared)
    better, other = sorted((row, again), key=lambda row: len(row.differences))
    better.notes.append("the other time: " + ("; ".join(other.differences) or "as aimed"))
    return better
