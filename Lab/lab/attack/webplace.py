"""A host that lets in browsers, with an honest native viewer and an honest browser that watch during an attack."""

from __future__ import annotations

import contextlib
import multiprocessing
import time
from collections.abc import Iterator
from typing import Any

from lab.attack import browser
from lab.attack.browser import Gone, Page
from lab.attack.laboratory import Apart, Laboratory, NotPlayed, Row, Scene
from lab.common.programs import free_port
from lab.common.states import CODE

# The code for browsers; CODE is that for native viewers.
WEB_CODE = "135790"
# What only a browser gets that was let in.
INSIDE = {"in", "offer", "stream", "again", "size", "caption", "note", "paused", "visibility"}
# Pictures of 60 that an honest browser has to get in each second: its clock and the seconds' borders are its own.
LEAST_PICTURES = 55
# An honest browser's address, and that of one that comes during the attack.
WATCHER, NEWCOMER = "127.0.70.1", "127.0.70.2"
# The longest time, in seconds, until such a newcomer has the page, or is let in.
MOST_WAITING = 3


class Place:
    """The host's ports, and its honest viewers."""

    def __init__(self, lab: Laboratory, scene: Scene) -> None:
        self.lab, self.scene = lab, scene
        if "Browsers have to come by https" in scene.host.error_text:
            raise NotPlayed("the host lacks libssl or libsrtp2, without which there is no WebRTC")
        ready = scene.host.named("ready")[0]
        self.port, self.media_port = ready["webPort"], ready["webMediaPort"]
        # The honest browser; None: there is none.
        self.watching: Any = None
        self.pictures: list[float] = []

    def begin(self) -> None:
        began, self.ended = (multiprocessing.get_context("fork").Event() for _ in range(2))
        self.watching = Apart(browser.watch, self.port, WEB_CODE, began, self.ended, WATCHER)
        if not began.wait(15):
            raise RuntimeError(f"the honest browser sees nothing: {self.scene.host.error_text}")
        time.sleep(0.5)

    def end(self) -> None:
        if self.watching:
            self.watching.end()

    @contextlib.contextmanager
    def attack(self, row: Row) -> Iterator[None]:
        """The row gets what the honest viewers receive in this block."""
        with self.scene.attack(row):
            begin = time.monotonic()
            yield
            end = time.monotonic()
        if self.watching:
            self.ended.set()
            self._judge(row, self.watching.result(), begin, end)

    def _judge(self, row: Row, times: list[float], begin: float, end: float) -> None:
        whole = int(end - begin)
        rates = [sum(begin + second <= time < begin + second + 1 for time in times) for second in range(whole)]
        if not rates:
            return
        row.words += f"; a browser got {min(rates)} / {sum(rates) / whole:.1f} pictures a second"
        if row.came != "nothing":
            return
        if any(first < 5 and second < 5 for first, second in zip(rates, rates[1:])):
            row.came = "frozen"
        elif min(rates) < LEAST_PICTURES and not self.lab.short:
            row.came = "slow"

    # --- An honest newcomer

    def page_time(self, row: Row, patience: float = 10) -> float:
        """How long the page takes to come to an honest browser that tries again after a second."""
        return self._time(row, patience, "had the page",
                          lambda: browser.page(self.port, NEWCOMER, timeout=1))

    def entry_time(self, row: Row, patience: float = 10) -> float:
        """The same from the WebSocket with the right code to the offer."""
        return self._time(row, patience, "was let in", self._enter)

    def _enter(self) -> bool:
        try:
            with Page(self.port, NEWCOMER, timeout=1) as page:
                page.hello(WEB_CODE)
                return page.wait_for("offer", timeout=1) is not None
        except (Gone, OSError):
            return False

    def _time(self, row: Row, patience: float, what: str, attempt: Any) -> float:
        begin = time.monotonic()
        while not attempt():
            if time.monotonic() > begin + patience:
                row.came, row.words = "kept out", f"no honest browser {what} within {patience} s"
                return patience
            time.sleep(0.05)
        took = time.monotonic() - begin
        if took > MOST_WAITING and not self.lab.short:
            row.came = "kept out"
        return took


@contextlib.contextmanager
def web_place(lab: Laboratory, *words: str, accept: str = "none", watches: bool = True, **how: Any) -> Iterator[Place]:
    """A host that lets in browsers by WEB_CODE and new native viewers by CODE; `watches`: the honest two watch."""
    file = lab.state() / "web-code"
    file.write_text(WEB_CODE + "\n")
    file.chmod(0o600)
    with lab.scene("--web", "--web-port", str(free_port()), "--web-media-port", str(free_port()), "--web-code-file",
                   str(file), "--code", CODE, *words, accept=accept, viewer=watches, **how) as scene:
        place = Place(lab, scene)
        try:
            if watches:
                place.begin()
            yield place
        finally:
            place.end()
