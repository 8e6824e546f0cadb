"""Programs that are tried: processes with --json, their output, their resources, and whether they run."""

import ctypes
import json
import os
import pathlib
import resource
import select
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from typing import IO, Any, NamedTuple, Self

from lab.common import processes
from lab.common.processes import Found

LIBC = ctypes.CDLL(None)
# A process with more resident memory is killed, so that an attack doesn't exhaust the machine's memory.
MOST_MEGABYTES = 1200
Event = dict[str, Any]


def free_port() -> int:
    """A port that is free for both TCP and UDP."""
    while True:
        with socket.create_server(("127.0.0.1", 0)) as tcp, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
            port = tcp.getsockname()[1]
            try:
                udp.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue


class Line(NamedTuple):
    # In seconds of CLOCK_MONOTONIC.
    time: float
    text: str


class Program:
    """One process: started, read, watched, and ended by its own process ID. Its lines are stored as they come, and decoded
    only when somebody asks for events.
    """

    def __init__(self, words: Sequence[str], state: str | pathlib.Path, stderr: int | IO | None = None,
                 stdin: int | IO | None = None, descriptors: int | None = None,
                 environment: dict[str, str | None] | None = None, limits: dict[int, int] | None = None,
                 is_watched: bool = True) -> None:
        """`environment`: more variables; those with the value None are left out. `limits`: soft and hard resource
        limits, by their numbers in `resource`. `is_watched`: `peak` is sampled, and too much memory ends the program.
        """
        self.words, self.state = words, pathlib.Path(state)
        self.state.mkdir(parents=True, exist_ok=True)
        limits = dict(limits or {})
        if descriptors:
            limits[resource.RLIMIT_NOFILE] = descriptors

        def prepare() -> None:
            # PR_SET_PDEATHSIG: ends with this process.
            LIBC.prctl(1, signal.SIGKILL)
            for number, most in limits.items():
                resource.setrlimit(number, (most, most))

        # `said`: the time and text of each line of `errors`.
        self.lines: list[Line] = []
        self.said: list[tuple[float, str]] = []
        self.errors: list[str] = []
        self.decoded: list[Event] = []
        self.decoded_lines = 0
        self.changed = threading.Condition()
        self.process = subprocess.Popen(words, env=self._environment(environment or {}), stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE if stderr is None else stderr,
                                        stdin=subprocess.DEVNULL if stdin is None else stdin,
                                        preexec_fn=prepare, start_new_session=True)
        # In MB.
        self.peak = 0.0
        self.was_ended = False
        bodies = [self._read_lines, *([self._read_errors] if stderr is None else []), *([self._watch] if is_watched else [])]
        self.threads = [threading.Thread(target=body, daemon=True) for body in bodies]
        for thread in self.threads:
            thread.start()

    def _environment(self, more: dict[str, str | None]) -> dict[str, str]:
        private = ("DISPLAY", "WAYLAND_DISPLAY", "DBUS_SESSION_BUS_ADDRESS")
        found = {name: value for name, value in os.environ.items() if name not in private}
        # Nor is the person's file of settings used.
        found |= {"XDG_STATE_HOME": str(self.state), "XDG_CONFIG_HOME": str(self.state / "settings"),
                  "LC_ALL": "C.UTF-8", "TERM": "dumb",
                  # Otherwise a crash takes seconds to be reported.
                  "SWIFT_BACKTRACE": "enable=no"}
        return {name: value for name, value in {**found, **more}.items() if value is not None}

    @property
    def pid(self) -> int:
        return self.process.pid

    # --- What it says

    def _read_lines(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            now = time.monotonic()
            with self.changed:
                self._take(Line(now, line.decode(errors="replace").rstrip("\n")))
                self.changed.notify_all()

    def _take(self, line: Line) -> None:
        self.lines.append(line)

    def _read_errors(self) -> None:
        assert self.process.stderr
        for line in self.process.stderr:
            with self.changed:
                self.errors.append(line.decode(errors="replace"))
                self.said.append((time.monotonic(), self.errors[-1].strip()))
                self.changed.notify_all()

    @property
    def events(self) -> list[Event]:
        """What it has told until now, each with the time `at` which it came."""
        with self.changed:
            new, self.decoded_lines = self.lines[self.decoded_lines:], len(self.lines)
            for line in new:
                try:
                    self.decoded.append({**json.loads(line.text), "at": line.time})
                except (ValueError, TypeError):
                    continue
            return self.decoded

    def named(self, name: str, since: float = 0.0) -> list[Event]:
        with self.changed:
            return [event for event in self.events if event["event"] == name and event["at"] >= since]

    @property
    def error_text(self) -> str:
        return "".join(self.errors)

    def last_words(self) -> str:
        return "\n".join(self.error_text.splitlines()[-8:])

    def wait(self, condition: Callable[[], Found], timeout: float) -> Found | None:
        """The first true result of `condition()`; None after the timeout."""
        deadline = time.monotonic() + timeout
        with self.changed:
            while True:
                found = condition()
                if found:
                    return found
                left = deadline - time.monotonic()
                if left <= 0:
                    return None
                self.changed.wait(min(left, 0.2))

    def wait_for(self, name: str, timeout: float = 15, since: float = 0.0) -> Event | None:
        """The first event of that name; None after the timeout, or when there will be none because the program has ended."""
        self.wait(lambda: self.named(name, since) or not self.threads[0].is_alive(), timeout)
        return next(iter(self.named(name, since)), None)

    def wait_for_words(self, words: str, timeout: float = 10) -> bool | None:
        return self.wait(lambda: words in self.error_text, timeout)

    # --- What it uses

    def _watch(self) -> None:
        """Samples the resident memory."""
        while self.process.poll() is None:
            found = processes.memory(self.pid)
            self.peak = max(self.peak, found.get("VmHWM", 0) / 1024)
            if found.get("VmRSS", 0) / 1024 > MOST_MEGABYTES:
                self.process.kill()
            time.sleep(0.1)

    def processor(self) -> float:
        """Processor time so far, in seconds."""
        return processes.processor_time(self.pid)

    # --- Its end

    @property
    def fate(self) -> str | None:
        """None while it runs or after we ended it; otherwise how it ended."""
        status = self.process.poll()
        if status is None or self.was_ended:
            return None
        return signal.Signals(-status).name if status < 0 else f"exit status {status}"

    def is_running(self) -> bool:
        return self.process.poll() is None

    def end(self) -> None:
        """As by Ctrl-C: what it has is written out."""
        if self.is_running():
            self.was_ended = True
            self.process.send_signal(signal.SIGINT)
            try:
                self.process.wait(4)
            except subprocess.TimeoutExpired:
                self.process.kill()
        self.process.wait()

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()


class Terminal:
    """A terminal with a person, or one that nobody reads."""

    def __init__(self) -> None:
        self.master, self.slave = os.openpty()
        self.text = ""
        self.is_read = True
        self.is_over = False
        self.thread = threading.Thread(target=self._read, daemon=True)
        self.thread.start()

    def _read(self) -> None:
        while not self.is_over:
            if not self.is_read:
                time.sleep(0.05)
            elif select.select([self.master], [], [], 0.1)[0]:
                try:
                    self.text += os.read(self.master, 4096).decode(errors="replace")
                except OSError:
                    return

    def type(self, words: str) -> None:
        os.write(self.master, words.encode())

    def wait_for(self, words: str, timeout: float = 10, after: int = 0) -> bool:
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline:
            if words in self.text[after:]:
                return True
            time.sleep(0.02)
        return False

    def close(self) -> None:
        self.is_over = True
        self.thread.join(2)
        os.close(self.master)
        os.close(self.slave)
