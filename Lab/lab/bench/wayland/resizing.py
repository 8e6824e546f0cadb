"""How soon the right picture is seen after a change of the desktop's size."""

import os
import random
import time
from typing import Any

from lab.bench.wayland.place import START, Place
from lab.common.programs import Program
from lab.common.trouble import Trouble

SIZES = ("1920x1080", "1280x720", "1024x768", "1600x900", "800x600", "1366x768", "1680x1050", "1280x1024", "1080x1920")
# In seconds: a picture that isn't right by then never is.
LONGEST = 5
# Between two changes.
PAUSE = 0.5


def measure(place: Place, name: str, count: int) -> dict[str, Any]:
    """The times in ms of `count` changes, from the command to the compositor until the picture is right, and until the
    window is drawn in the new size.
    """
    source = place.sources(name)[name]
    chosen = random.Random(34)
    times, drawn, wrong = [], [], 0
    with place.shared(source), Program(
            [os.environ["BEAMROOM_PROBE"], "--wayland", place.desktop.socket, "--viewer", place.screens.viewer, "--resizes"],
            place.directory / "probe", stdin=-1) as probe:
        if not probe.wait(lambda: probe.lines, START):
            raise Trouble(f"The first picture was never right. {probe.error_text}\n{place.last_words()}")
        size = SIZES[0]
        for _ in range(count):
            time.sleep(PAUSE)
            size = chosen.choice([other for other in SIZES if other != size])
            begin, seen = time.monotonic(), len(probe.lines)
            place.desktop.perform(f"run swaymsg output HEADLESS-1 resolution {size}")
            if not probe.wait(lambda: len(probe.lines) > seen or not probe.is_running(), LONGEST):
                wrong += 1
                continue
            if not probe.is_running():
                raise Trouble(f"The probe ended by itself. {probe.error_text}")
            columns, rows, committed, right = probe.lines[-1].text.split()
            if f"{columns}x{rows}" != size:
                raise Trouble(f"The desktop is {columns}x{rows} instead of {size}.")
            times.append((float(right) - begin) * 1e3)
            drawn.append((float(committed) - begin) * 1e3)
    return {"times": times, "drawn": drawn, "wrong": wrong}
