"""A Wayland desktop beside two X screens: what is painted on the desktop or on the first of them is shared, and seen on the
other one.
"""

import contextlib
import os
import secrets
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from lab.bench import systems
from lab.common.desktops import AGREE, Desktop
from lab.common.processes import first_true
from lab.common.screens import Screens, TwoScreens
from lab.common.trouble import Trouble

# How long a host gets until it shares, and a viewer until it shows that.
START = 20


class Place(TwoScreens):
    def __init__(self, kind: str = "sway", size: int = 1080, refresh: int | None = None) -> None:
        """`refresh`: of sway's output, in Hz."""
        super().__init__(size, 60)
        self.kind, self.refresh = kind, refresh
        self.desktop: Desktop
        # What the probe paints on: the desktop, otherwise the host's X screen.
        self.is_on_desktop = False

    def begin(self) -> None:
        super().begin()
        screens = self.screens
        self.desktop = Desktop(self.stack, self.kind, self.directory / "desktop", f"{screens.width}x{screens.height}", self.log)

        if self.refresh:
            self.desktop.perform("run swaymsg -- output HEADLESS-1 mode --custom"
                                 f" {screens.width}x{screens.height}@{self.refresh}Hz")

    def _probe_command(self, content: str, seconds: float, *options: object) -> list[str]:
        command = super()._probe_command(content, seconds, *options)
        if self.is_on_desktop:
            host = command.index("--host")
            command[host:host + 2] = ["--wayland", self.desktop.socket]
        return command

    def sources(self, *names: str) -> dict[str, "Source"]:
        """The host with each of these sources. Their viewer is paired."""
        found = {name: Source(name, self) for name in names}
        next(iter(found.values())).prepare(self)
        return found

    @contextlib.contextmanager
    def shared(self, source: "Source") -> Iterator[dict[str, int]]:
        """Both ends with this source, when its host shares; their PIDs and those of what shows pictures."""
        self.is_on_desktop = source.name != "x11"
        port = self.next_port()
        with source.sharing(port) as share, self.running(source.watch(self.screens, port), "watch") as watch:
            screen, viewer_screen = self.screens.pids
            yield {"host": share, "viewer": watch.pid, "viewer-screen": viewer_screen,
                   "host-screen": self.desktop.process.pid if self.is_on_desktop else screen}
            if watch.poll() is not None:
                raise Trouble(f"The viewer ended by itself. Last words:\n{self.last_words()}")

    def measured(self, source: "Source", content: str, seconds: float, rest: float = 0) -> dict[str, Any]:
        """The probe's figures, and the program's own."""
        with self.shared(source) as pids:
            self.wait_for("the viewer", lambda: source.events("viewer", "paired"), START)
            groups = [word for name, pid in pids.items() for word in ("--process", f"{name}:{pid}")]
            figures = self.probed(content, "--rest", rest, *groups, seconds=seconds)
            if rest:
                # Those of each second, while nothing changed.
                told = source.events("host", "stats")[-int(rest):]
                figures["rest"]["encoded"] = told[-1]["encoded"] - told[0]["encoded"]
        return {**figures, "stages": source.stages()}


class Source(systems.BeamRoom):
    """BeamRoom with one of its sources: x11, wlr, portal."""

    def __init__(self, name: str, place: Place) -> None:
        super().__init__(os.environ["BEAMROOM"], place.directory)
        self.name, self.place = name, place

    def source(self, screens: Screens) -> Sequence[str]:
        # Nothing plays on these desktops.
        silent = ["--audio", "off"]
        return [*super().source(screens), *silent] if self.name == "x11" else ["--source", self.name, *silent]

    def session(self) -> Mapping[str, str]:
        return {} if self.name == "x11" else self.place.desktop.environment

    @contextlib.contextmanager
    def sharing(self, port: int, *more: object) -> Iterator[int]:
        """The host's PID, when it shares. A dialog is agreed to."""
        for end in ("host", "viewer"):
            (self.directory / f"{end}.json").unlink(missing_ok=True)
        with self.place.running(self.share(self.place.screens, port, *more), "share") as host:
            self.place.wait_for("the host", lambda: host.poll() is not None or self.is_ready() or self.is_asked(), START)
            for _ in range(6):
                if self.is_ready() or host.poll() is not None:
                    break
                self.place.desktop.perform(AGREE)
                first_true(lambda: self.is_ready() or host.poll() is not None, 3)
            if host.poll() is not None:
                raise Trouble(f"The host ended by itself. Last words:\n{self.place.last_words()}")
            self.place.wait_for("the host", self.is_ready, START)
            yield host.pid
            if host.poll() is not None:
                raise Trouble(f"The host ended by itself. Last words:\n{self.place.last_words()}")

    def is_ready(self) -> bool:
        return bool(self.events("host", "ready"))

    def is_asked(self) -> bool:
        return "The desktop asks what to share" in self.place.last_words()

    def prepare(self, place: TwoScreens) -> None:
        port = place.next_port()
        code = ("--code", f"{secrets.randbelow(10 ** 6):06}")
        with self.sharing(port, *code), place.running(self.watch(place.screens, port, *code), "watch"):
            place.wait_for("the pairing", lambda: self.events("viewer", "paired") and self.events("host", "paired"), START)
