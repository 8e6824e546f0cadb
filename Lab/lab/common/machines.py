"""Machines with discovery: each has a network, a message bus and an Avahi daemon of its own."""

import contextlib
import os
import pathlib
import subprocess
from typing import IO

from lab.common.paths import ROOT
from lab.common.trouble import Trouble

PRIVATE_AVAHI = ROOT / "Scripts" / "lib" / "private-avahi"


def obstacle() -> str | None:
    """None if such machines can be made here, otherwise what is missing."""
    done = subprocess.run([PRIVATE_AVAHI, "check"], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    return None if done.returncode == 0 else done.stderr.strip()


class Machines:
    """Two machines of Scripts/lib/private-avahi at one cable. They end with `stack`."""

    addresses = ("10.77.0.1", "10.77.0.2")

    def __init__(self, directory: pathlib.Path, stack: contextlib.ExitStack, log: IO[str]) -> None:
        self.log = log
        self.folders = [directory / name for name in ("a", "b")]
        for number, folder in enumerate(self.folders):
            beside: list[str | pathlib.Path] = ["--beside", self.folders[0]] if number else []
            # Its daemons would keep a pipe open.
            with open(directory / f"avahi-{number}", "w+") as words:
                done = subprocess.run([PRIVATE_AVAHI, "start", folder, *beside, "--owner", str(os.getpid())],
                                      stdout=words, stderr=words, stdin=subprocess.DEVNULL)
                if done.returncode != 0:
                    words.seek(0)
                    raise Trouble(words.read().strip())
            stack.callback(self._call, "stop", folder)

    def at(self, number: int) -> list[str]:
        """What a command begins with that runs in that machine's network and on its bus."""
        return [str(PRIVATE_AVAHI), "run", str(self.folders[number])]

    def bus(self, number: int) -> dict[str, str | None]:
        """The environment for a program on that machine's bus."""
        return {"DBUS_SYSTEM_BUS_ADDRESS": f"unix:path={self.folders[number]}/bus"}

    def _call(self, command: str, folder: pathlib.Path) -> int:
        """The status of what Scripts/lib/private-avahi did."""
        return subprocess.run([PRIVATE_AVAHI, command, folder], stdout=self.log, stderr=self.log).returncode

    def daemons(self, command: str, *numbers: int) -> bool:
        """Has private-avahi do something with the daemons of these machines, or of both. False: it couldn't."""
        folders = [self.folders[number] for number in numbers] or self.folders
        return all(self._call(command, folder) == 0 for folder in folders)
