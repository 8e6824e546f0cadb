"""Sound servers with null sinks, one for each end: PulseAudio, or PipeWire with what serves PulseAudio's programs."""

import contextlib
import os
import pathlib
import shutil
import subprocess
from collections.abc import Callable
from typing import IO, Any, Self

from lab.common import processes
from lab.common.processes import end
from lab.common.trouble import Trouble

# The sinks that each server has. The first is the default one.
SPEAKER, OTHER = "Speaker", "Other"


class Server:
    """A sound server in a directory of its own. Programs find it by `environment`."""

    #: Its name in words, and its programs.
    title = ""
    programs: tuple[str, ...] = ()

    def __init__(self, stack: contextlib.ExitStack, directory: pathlib.Path, log: IO[str]) -> None:
        self.directory = pathlib.Path(directory)
        self.directory.mkdir(mode=0o700, parents=True)
        self.log, self.processes = log, []
        stack.callback(self.stop)

    @property
    def socket(self) -> pathlib.Path:
        return self.directory / "pulse.socket"

    @property
    def environment(self) -> dict[str, str]:
        own = str(self.directory)
        return {"HOME": own, "XDG_RUNTIME_DIR": own, "XDG_CONFIG_HOME": own, "PULSE_SERVER": f"unix:{self.socket}",
                "PULSE_COOKIE": f"{own}/cookie"}

    def start(self) -> Self:
        for program in self.programs:
            if not shutil.which(program):
                raise Trouble(f"There is no {program} here. Scripts/setup --bench installs it.")
        self._launch()
        self._wait("the sound server to answer", lambda: self._pactl("info") is not None)
        for name in (SPEAKER, OTHER):
            self.load("module-null-sink", f"sink_name={name}", "rate=48000", "channels=2",
                      f"sink_properties=device.description={name}")
        self._wait("the sinks", lambda: f"{OTHER}.monitor" in (self._pactl("list", "short", "sources") or ""))
        self.set_default(SPEAKER)
        return self

    def _launch(self) -> Any:
        raise NotImplementedError

    def _run(self, *command: str) -> None:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log,
                                   env={**os.environ, **self.environment}, start_new_session=True)
        self.processes.append(process)

    def stop(self) -> None:
        for process in reversed(self.processes):
            end(process)
        self.processes = []

    def kill(self) -> None:
        """As if it had crashed."""
        for process in reversed(self.processes):
            process.kill()
            process.wait()
        self.processes = []
        with contextlib.suppress(FileNotFoundError):
            self.socket.unlink()

    def pids(self) -> list[int]:
        return [process.pid for process in self.processes]

    # --- What it is told

    def _pactl(self, *words: str) -> str | None:
        """What pactl prints; None if it fails."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            run = subprocess.run(["pactl", *words], env={**os.environ, **self.environment}, capture_output=True,
                                 text=True, timeout=10)
            if run.returncode == 0:
                return run.stdout
        return None

    def _wait(self, what: str, is_done: Callable[[], object]) -> None:
        processes.wait(f"{what} of {self.title}", 20, is_done)

    def load(self, module: str, *arguments: str) -> None:
        if self._pactl("load-module", module, *arguments) is None:
            raise Trouble(f"{self.title} doesn't load {module}.")

    def set_default(self, sink: str) -> None:
        # Not at once after the sink has come.
        self._wait(f"the sink {sink}", lambda: self._pactl("set-default-sink", sink) is not None
                   and (self._pactl("get-default-sink") or "").strip() == sink)

    def add_card(self, name: str) -> pathlib.Path:
        """A source that reads what is written into the pipe whose path this returns, by the writer's clock."""
        pipe = self.directory / f"{name}.pipe"
        self.load("module-pipe-source", f"source_name={name}", f"file={pipe}", "format=float32le", "rate=48000",
                  "channels=2", f"source_properties=device.description={name}")
        self._wait(f"the source {name}", lambda: pipe.exists() and name in (self._pactl("list", "short", "sources") or ""))
        return pipe


class PulseAudio(Server):
    title = "PulseAudio"
    programs = ("pulseaudio", "pactl")

    def _launch(self) -> None:
        self._run("pulseaudio", "-n", "--daemonize=no", "--exit-idle-time=-1", "--use-pid-file=no", "--disable-shm=no",
                  "-L", f"module-native-protocol-unix socket={self.socket} auth-anonymous=1")


class PipeWire(Server):
    title = "PipeWire"
    programs = ("pipewire", "wireplumber", "pipewire-pulse", "dbus-daemon", "pactl")

    @property
    def socket(self) -> pathlib.Path:
        return self.directory / "pulse" / "native"

    @property
    def environment(self) -> dict[str, str]:
        return {**super().environment, "DBUS_SESSION_BUS_ADDRESS": f"unix:path={self.directory}/bus"}

    def _launch(self) -> None:
        for name in ("bus", "pipewire-0"):
            with contextlib.suppress(FileNotFoundError):
                (self.directory / name).unlink()
        self._run("dbus-daemon", "--session", "--nofork", f"--address=unix:path={self.directory}/bus")
        self._wait("a bus", (self.directory / "bus").exists)
        self._run("pipewire")
        self._wait("the socket", (self.directory / "pipewire-0").exists)
        self._run("wireplumber")
        self._run("pipewire-pulse")


class Nowhere(Server):
    """In place of a server: programs that look for one find none."""

    def __init__(self) -> None:
        pass

    @property
    def environment(self) -> dict[str, str]:
        return {"PULSE_SERVER": "unix:/nonexistent/pulse.socket", "XDG_RUNTIME_DIR": "/nonexistent"}


KINDS = {"pulse": PulseAudio, "pipewire": PipeWire}
