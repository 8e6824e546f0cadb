"""A host that lets browsers watch, and browsers in a network of their own, with the laboratory's link between them."""

import contextlib
import os
from collections.abc import Iterator

from lab.common.browsers import Browser
from lab.common.namespaces import entering, namespace
from lab.common.programs import Program
from lab.common.screens import Workplace, new_screen
from lab.common.trouble import Trouble
from lab.network.links import HOST, Relay

# A browser on the loopback gathers no candidate for WebRTC; and the link loses packets where a row wants that.
CLEAN = "delay=0ms,loss=0%"
CODE = "482913"
PORT, MEDIA_PORT, WEB_PORT = 5601, 5602, 52347
SIZES = {720: (1280, 720, 5_000), 1080: (1920, 1080, 10_000)}
# How long a host gets until it shares, and a viewer until it watches, in seconds.
START = 20


class Place(Workplace):
    def begin(self) -> None:
        self.viewer_end = self.stack.enter_context(namespace(self.log))
        self.relay = self.stack.enter_context(Relay(self.log, self.viewer_end, CLEAN, limit=7200))
        self.code = self.directory / "code"
        self.code.write_text(f"{CODE}\n")
        self.code.chmod(0o600)

    @contextlib.contextmanager
    def sharing(self, *more: object, rows: int = 1080, bit_rate: int | None = None, sound: str = "off",
                environment: dict[str, str | None] | None = None) -> Iterator[Program]:
        """A host that shares what `more` says, and `sound`. `bit_rate`: in kbit/s, if it isn't the usual one."""
        host = Program(
            [os.environ["BEAMROOM"], "share", "--json", "--no-discovery", "--bind", HOST, "--port", str(PORT), "--media-port",
             str(MEDIA_PORT), "--accept", "all", "--name", "Desk", "-b", f"{bit_rate or SIZES[rows][2]}k", "--audio", sound,
             "--web", "--web-code-file", str(self.code), "--web-port", str(WEB_PORT), *map(str, more)], self.directory / "host",
            environment=environment)
        with host:
            if not host.wait_for("ready", START):
                raise Trouble(f"The host doesn't share. Its last words:\n{host.last_words()}")
            yield host
            if not host.is_running():
                raise Trouble(f"The host ended by itself: {host.fate}. Its last words:\n{host.last_words()}")

    def pattern(self, content: str, rate: int, rows: int = 1080) -> list[object]:
        """The options for the test pattern, whose pictures carry their number and time."""
        width, height, _ = SIZES[rows]
        return ["--source", "pattern", "--content", content, "--size", f"{width}x{height}", "--max-fps", rate]

    def browser(self, kind: type[Browser], size: tuple[int, int] = (1280, 800),
                sound: dict[str, str] | None = None) -> Browser:
        return kind(self.directory, self.log, self.viewer_end, size, sound)

    @contextlib.contextmanager
    def native(self) -> Iterator[Program]:
        """A viewer without a window, when it watches."""
        viewer = Program([*entering(self.viewer_end), os.environ["BEAMROOM"], "watch", f"{HOST}:{PORT}", "--no-window",
                          "--json"], self.directory / "viewer")
        with viewer:
            if not viewer.wait_for("first-frame", START):
                raise Trouble(f"The viewer shows nothing. Its last words:\n{viewer.last_words()}")
            yield viewer

    @contextlib.contextmanager
    def still_screen(self, rows: int, seconds: float) -> Iterator[str]:
        """An X display with a desktop on which, after some seconds, nothing changes."""
        # Imported late: it needs python3-pil, which may have been installed just now.
        from lab.common import content

        width, height, _ = SIZES[rows]
        with contextlib.ExitStack() as stack:
            display, _ = new_screen(stack, width, height, self.log)
            content.write(self.directory, width, height)
            # What it sees is of no interest here.
            command = [os.environ["BEAMROOM_PROBE"], "--host", display, "--viewer", display, "--content", "still", "--image",
                       str(self.directory / "still.ppm"), "--warm-up", "1", "--seconds", "1", "--rest", f"{seconds:g}"]
            stack.enter_context(self.running("exec " + " ".join(command), "paint"))
            yield display
