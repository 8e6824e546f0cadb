"""Virtual screens and processes for a measurement, which end with it."""

import contextlib
import dataclasses
import itertools
import json
import os
import pathlib
import shlex
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import IO, Any, Self

from lab.common import processes
from lab.common.trouble import Trouble

SIZES = {720: (1280, 720, 5_000), 1080: (1920, 1080, 10_000), 2160: (3840, 2160, 20_000)}
NUMBERS = itertools.count(201)
#: The probe's pictures for a content, if they aren't one with its name.
PICTURES = {"video": (), "drag": ("--page", "terminal"), "pointer": ("--image", "still"),
            "rest": ("--image", "still", "--page", "scroll"),
            **dict.fromkeys(("typing", "lines"), ("--image", "still", "--page", "terminal"))}


def new_screen(stack: contextlib.ExitStack, width: int, height: int, log: IO | int = subprocess.DEVNULL) -> tuple[str, int]:
    """A virtual screen until the stack ends: its X display, and the PID of its server."""
    # A number without a lock: Xvfb can't see processes outside these namespaces, and would take their locks for stale.
    display = next(number for number in NUMBERS if not os.path.exists(f"/tmp/.X{number}-lock"))
    read, write = os.pipe()
    command = ["Xvfb", f":{display}", "-displayfd", str(write), "-screen", "0", f"{width}x{height}x24", "-nolisten", "tcp",
               "-noreset", "-ac", "-s", "0", "+extension", "GLX"]
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, pass_fds=[write],
                               start_new_session=True)
    stack.callback(processes.end, process)
    os.close(write)
    with os.fdopen(read) as pipe:
        if not pipe.readline().strip():
            raise Trouble("No virtual screen came up.")
    return f":{display}", process.pid


class Workplace:
    """A folder, a log and processes. Everything that is entered into `stack` ends with it."""

    def __init__(self) -> None:
        self.stack = contextlib.ExitStack()
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="beamroom-lab-"))
        self.log = open(self.directory / "log", "a+")  # Closed by the stack.
        self.stack.callback(shutil.rmtree, self.directory, ignore_errors=True)
        self.stack.callback(self.log.close)

    def __enter__(self) -> Self:
        try:
            self.begin()
        except BaseException:
            self.__exit__()
            raise
        return self

    def begin(self) -> None:
        """Starts what it needs."""

    def __exit__(self, *_: object) -> None:
        self.stack.close()

    def last_words(self) -> str:
        self.log.flush()
        return "\n".join((self.directory / "log").read_text(errors="replace").splitlines()[-8:])

    def wait_for(self, what: str, condition: Callable[[], object], seconds: float = 20) -> None:
        if not processes.first_true(condition, seconds):
            raise Trouble(f"Waited {seconds:g} s in vain for {what}. Last words:\n{self.last_words()}")

    @contextlib.contextmanager
    def running(self, command: str, name: str) -> Iterator[subprocess.Popen]:
        print(f"# {name}: {command}", file=self.log, flush=True)
        process = subprocess.Popen(["sh", "-c", command], stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log,
                                   start_new_session=True)
        try:
            yield process
        finally:
            processes.end(process)


@dataclasses.dataclass
class Screens:
    """Two X displays of one size, and how they are shared."""

    width: int
    height: int
    rate: int
    bit_rate: int  # in kbit/s
    host: str = ""
    viewer: str = ""
    pids: tuple[int, ...] = ()
    # The addresses of both ends.
    host_address: str = "127.0.0.1"
    viewer_address: str = "127.0.0.1"
    # Whether the pointer is shared, too.
    has_pointer: bool = False


class TwoScreens(Workplace):
    """Two virtual screens in a private network, which carries only the measured traffic, and the probe that paints on one
    and reads the other.
    """

    def __init__(self, size: int, rate: int) -> None:
        super().__init__()
        width, height, bit_rate = SIZES[size]
        self.probe = os.environ["BEAMROOM_PROBE"]
        self.screens = Screens(width, height, rate, bit_rate)
        self.port = 5600

    def begin(self) -> None:
        screens = self.screens
        (screens.host, host_pid), (screens.viewer, viewer_pid) = (
            new_screen(self.stack, screens.width, screens.height, self.log) for _ in range(2))
        screens.pids = (host_pid, viewer_pid)

    def next_port(self) -> int:
        # The ports of the run before may still be in use.
        self.port += 4
        return self.port

    def _probe_command(self, content: str, seconds: float, *options: object) -> list[str]:
        screens = self.screens
        command = [self.probe, "--host", screens.host, "--viewer", screens.viewer, "--content", content,
                   # Slightly off the capture rate, so that the phases drift.
                   "--rate", str(screens.rate * 60.1 / 60), "--seconds", str(seconds), *map(str, options)]
        for option in PICTURES.get(content, ("--image", content)):
            command.append(option if option.startswith("--") else str(self.directory / f"{option}.ppm"))
        return command

    def painting(self, content: str, seconds: float) -> contextlib.AbstractContextManager[subprocess.Popen]:
        """Shows the content on the host's screen while something else is measured."""
        return self.running("exec " + shlex.join(self._probe_command(content, seconds)), "paint")

    def probed(self, content: str, *options: object, seconds: float) -> dict[str, Any]:
        """The probe's figures of what it painted and saw."""
        run = subprocess.run(self._probe_command(content, seconds, *options), stdout=subprocess.PIPE, stderr=self.log,
                             text=True, timeout=seconds + 120)
        if run.returncode != 0:
            raise Trouble(f"The probe could not measure:\n{self.last_words()}")
        return json.loads(run.stdout)

    @contextlib.contextmanager
    def sharing(self, system: Any, share: float, watch: float) -> Iterator[tuple[subprocess.Popen, subprocess.Popen]]:
        """A system of lab.bench.systems at both ends; how many seconds each end gets to start."""
        port = self.next_port()
        with self.running(system.share(self.screens, port), "share") as host:
            time.sleep(share)
            with self.running(system.watch(self.screens, port), "watch") as viewer:
                time.sleep(watch)
                yield host, viewer
