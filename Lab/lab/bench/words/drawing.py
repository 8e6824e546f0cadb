"""The row `drawn` of Scripts/bench words: a caption, from the pipe until it is seen in the other window."""

import argparse
import contextlib
import os
import pathlib
import random
import statistics
import subprocess
import threading
import time
from typing import Any

from lab.common.members import HOST_PORT, Member
from lab.common.numbers import taken
from lab.common.programs import Line
from lab.common.screens import TwoScreens
from lab.common.tables import yes
from lab.common.trouble import Trouble

VOCABULARY = ("today we read the first chapter of a book about light and sound and then talk over what was in it why do "
              "waves carry nothing but energy and how can everybody hear them").split()


class Changes:
    """When a part of a display changes."""

    def __init__(self, stack: contextlib.ExitStack, display: str, part: str) -> None:
        # What it can't do, it says on standard error.
        self.process = subprocess.Popen(
            [os.environ["BEAMROOM_PROBE"], "--viewer", display, "--changes", part], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True, start_new_session=True)
        stack.callback(self._close)
        self.seen = []
        self.changed = threading.Condition()
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self) -> None:
        for line in self.process.stdout:
            seconds, digest = line.split()
            with self.changed:
                self.seen.append(Line(float(seconds), digest))
                self.changed.notify_all()

    def since(self, time_: float) -> list[Line]:
        return [line for line in self.seen[:] if line.time >= time_]

    def wait(self, time_: float, seconds: float) -> bool:
        """Waits for a change after `time_`; returns whether there was one."""
        with self.changed:
            return self.changed.wait_for(lambda: bool(self.seen) and self.seen[-1].time >= time_, seconds)

    def settle(self, seconds: float = 1, limit: float = 20) -> None:
        """Waits until nothing has changed for `seconds`."""
        end = time.monotonic() + limit
        while not self.seen or self.seen[-1].time > time.monotonic() - seconds:
            if time.monotonic() > end or self.process.poll() is not None:
                raise Trouble("The viewer's screen isn't at rest, so captions on it can't be measured.")
            time.sleep(0.05)

    def _close(self) -> None:
        self.process.stdin.close()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def text(number: int, dice: random.Random) -> str:
    """Its beginning is another one each time, because a line's beginning is what is looked at."""
    return f"{number * 7919 % 1000} " + " ".join(dice.sample(VOCABULARY, 6))


def drawn(options: argparse.Namespace, directory: pathlib.Path, stack: contextlib.ExitStack) -> dict[str, Any]:
    """Captions at random times, over the picture of a screen that rests: no frame of the picture draws them."""
    dice = random.Random(1)
    pipe = directory / "captions"
    os.mkfifo(pipe)
    screens = stack.enter_context(TwoScreens(720, 60)).screens
    host = Member(stack, directory / "host", ["share", "--display", screens.host, "--no-cursor", *Member.OPEN,
                                              "--bind", "127.0.0.1", "--captions", str(pipe)])
    host.first("ready")
    viewer = Member(stack, directory / "viewer", ["watch", f"127.0.0.1:{HOST_PORT}", "--fullscreen"],
                    at=["env", f"DISPLAY={screens.viewer}"])
    viewer.first("first-frame")
    # The beginning of the lowest line.
    changes = Changes(stack, screens.viewer, f"{screens.width // 4 - 80},{screens.height - 64},480x64")
    count = 12 if options.check else 60
    took, events, unseen, digests = [], [], 0, set()
    with open(pipe, "wb", buffering=0) as captioner:
        changes.settle()
        # Not counted: the first text loads the fonts.
        captioner.write(b"Good morning\n")
        if not changes.wait(time.monotonic() - 1, 20):
            raise Trouble(f"No caption appears in the window. Its last words:\n{viewer.last_words()}")
        changes.settle(0.3)
        for number in range(count):
            line = text(number, dice)
            start = time.monotonic()
            captioner.write(f"{line}\n".encode())
            is_drawn = changes.wait(start, 5)
            # Less than a caption stays (4 s), so that none goes meanwhile.
            time.sleep(dice.uniform(0.15, 0.65))
            seen = changes.since(start)
            if is_drawn and seen[-1].text not in digests:
                # The last change, if it is drawn in several.
                took.append(seen[-1].time - start)
            else:
                unseen += 1
            digests.update(one.text for one in seen)
            events.append(viewer.line(f'"text":"{line}"').time - start)
    host.end()
    if len(took) < 2:
        raise Trouble(f"{unseen} of {count} captions weren't drawn in the window.")
    return {"count": count, "unseen": unseen, **taken(took), "event_median": statistics.median(events) * 1e3}


def drawn_lines(row: dict[str, Any]) -> list[list[str]]:
    return [[f"a caption, from the pipe until it is seen in a viewer's window, over a resting picture (median, p95, "
             f"longest of {row['count']})", "50 ms",
             f"{row['median']:.1f}, {row['p95']:.1f}, {row['longest']:.1f} ms"
             + (f"; {row['unseen']} not seen" if row["unseen"] else ""),
             yes(row["median"] <= 50 and not row["unseen"])]]
