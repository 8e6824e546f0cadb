"""Wayland desktops of their own, with portal and PipeWire (Scripts/lib/wayland-desktop)."""

import contextlib
import pathlib
import subprocess
from typing import IO

from lab.common.paths import ROOT
from lab.common.processes import end
from lab.common.trouble import Trouble

SCRIPT = ROOT / "Scripts" / "lib" / "wayland-desktop"
#: In GNOME's dialog of 1280x720: its first monitor, then *Share*.
AGREE = "point sleep 0.5; click 640 386; sleep 0.3; click 852 233; sleep 0.3"


class Desktop:
    """sway or gnome, until the stack ends."""

    def __init__(self, stack: contextlib.ExitStack, kind: str, directory: pathlib.Path, size: str, log: IO[str]) -> None:
        check = subprocess.run([SCRIPT, "check", kind], capture_output=True, text=True)
        if check.returncode != 0:
            raise Trouble(f"{kind} can't run here: {check.stdout.strip()}. Scripts/setup --wayland --gnome installs it.")
        self.process = subprocess.Popen([SCRIPT, kind, directory, size], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=log, text=True, start_new_session=True)
        stack.callback(self._end)
        #: Of the desktop's programs.
        self.environment: dict[str, str] = {}
        for line in self.process.stdout:
            name, _, value = line.rstrip("\n").partition("=")
            if name == "ready":
                return
            self.environment[name] = value
        raise Trouble(f"{kind} doesn't start. {directory}/log may say why.")

    @property
    def socket(self) -> str:
        """Of its compositor."""
        return f"{self.environment['XDG_RUNTIME_DIR']}/{self.environment['WAYLAND_DISPLAY']}"

    def perform(self, command: str) -> None:
        """A command of the script's."""
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.write(command + "\n")
            self.process.stdin.flush()
        answer = self.process.stdout.readline().strip()
        if answer != "done":
            raise Trouble(f"The desktop's command “{command}”: {answer or 'it has ended'}.")

    def _end(self) -> None:
        # At the end of its input it ends all of its parts.
        self.process.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(10)
        end(self.process)
