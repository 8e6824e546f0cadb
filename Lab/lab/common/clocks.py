"""Wall clocks that are set while programs run."""

import pathlib
import shutil
import struct

from lab.common import build


class WallClock:
    """The wall clock of the programs that get its environment, ahead of the machine's by some seconds. The monotonic clock
    stays the machine's, as when a real clock is set.
    """

    def __init__(self, path: pathlib.Path) -> None:
        """`path`: of a new file, which says how far ahead it is."""
        self.file = open(path, "wb", buffering=0)
        self.set(0)
        self.environment: dict[str, str | None] = {"LD_PRELOAD": build.wall_clock(), "WALL_CLOCK": str(path)}

    @staticmethod
    def obstacle() -> str | None:
        """None if clocks can be set here, otherwise what is missing."""
        return None if shutil.which("gcc") else "setting a program's clock needs a library, and there is no gcc to make it"

    def set(self, seconds: int) -> None:
        """At once, and for those that run."""
        self.file.seek(0)
        self.file.write(struct.pack("=q", seconds))

    @property
    def command(self) -> list[str]:
        """What a command begins with that has this clock."""
        return ["env", *(f"{name}={value}" for name, value in self.environment.items())]
