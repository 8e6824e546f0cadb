"""A host and its viewers as processes, for one run of `Scripts/bench crowd`, and their figures."""

import argparse
import contextlib
import itertools
import os
import pathlib
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from typing import Any, Self

from lab.common import processes
from lab.common.namespaces import entering, namespace
from lab.common.numbers import median
from lab.common.programs import Program
from lab.common.trouble import Trouble
from lab.network import links

# Seconds before measuring begins, until bandwidth estimates, rate control and decoders have settled.
SETTLE = 5
# Viewers that come at once where joining isn't what is measured, and the seconds until the next ones come.
JOINING, JOINING_PAUSE = 10, 1.5


# Niceness: host and honest viewers before misbehaving ones, which would really have machines of their own.
FIRST, LAST = -10, 5


class Place:
    """The programs, and the identities of host and viewers."""

    def __init__(self, program: str, crowd: str, directory: str, options: argparse.Namespace) -> None:
        self.program, self.crowd, self.directory, self.options = program, crowd, pathlib.Path(directory), options
        help_ = subprocess.run([program, "share", "--help"], capture_output=True, text=True).stdout
        self.has_limit_option = "--max-viewers" in help_
        # 64 is the limit of a program without --max-viewers. Some places stay free for viewers that return before their
        # old session has ended.
        self.most_viewers = 900 if self.has_limit_option else 60
        self.prepared = 0
        # All ports are free in the private network; the viewers' ports are above 32768.
        self.ports = itertools.count(20_000)
        self.log = open(self.directory / "log", "a+")

    def prepare(self, count: int) -> None:
        """Makes keys for that many light viewers, and for the real ones."""
        if count > self.prepared:
            subprocess.run([self.crowd, "prepare", str(self.directory / "population"), "--count", str(count),
                            "--real", str(max(1, self.options.real))], check=True)
            self.prepared = count

    def source(self, size: str) -> list[str]:
        """The content to share."""
        if self.options.content != "noise":
            return ["--source", "pattern", "--content", self.options.content, "--size", size, "--max-fps", "30"]
        file = self.directory / f"noise-{size}.y4m"
        if not file.exists():
            width, height = size.split("x")
            subprocess.run([self.crowd, "content", str(file), "--width", width, "--height", height], check=True)
        return ["--source", str(file)]

    @property
    def population(self) -> pathlib.Path:
        return self.directory / "population"


@contextlib.contextmanager
def shaped(mbit: float) -> Iterator[None]:
    """All that passes the loopback of this private network shares so many Mbit/s, with a queue of 50 ms."""
    made = subprocess.run(["tc", "qdisc", "add", "dev", "lo", "root", "tbf", "rate", f"{mbit}mbit", "burst", "32k",
                           "latency", "50ms"], capture_output=True, text=True)
    if made.returncode != 0:
        raise Trouble(f"The loopback can't be shaped, which needs tc and the kernel's tbf: {made.stderr.strip()}")
    try:
        yield
    finally:
        subprocess.run(["tc", "qdisc", "del", "dev", "lo", "root"], capture_output=True)


class Scene:
    """One host and its viewers."""

    def __init__(self, place: Place, viewers: int, bit_rate: str = "8M", size: str = "1920x1080",
                 bind: str | None = "127.0.0.1", source: Sequence[str] | None = None, host: int = FIRST) -> None:
        """`host`: its niceness."""
        self.place, self.bind, self.niceness = place, bind, host
        self.stack = contextlib.ExitStack()
        self.port = next(place.ports)
        self.words = [place.program, "share", *(source or place.source(size)), "-b", bit_rate, "--trusted-only",
                      "--no-discovery", "--json", "--name", "desk", "--port", str(self.port), "--media-port",
                      str(next(place.ports)), "--time-limit", "300",
                      *([] if bind is None else ["--bind", bind]), *shlex.split(place.options.host_options)]
        if place.has_limit_option:
            self.words += ["--max-viewers", str(max(64, viewers + 20))]
        self.real: list[Program] = []
        # With its kinds and its number.
        self.misbehaving: list[tuple[Program, str, int]] = []

    def __enter__(self) -> Self:
        try:
            self.host = self.start(self.words, self.place.population / "host", self.niceness)
            if not self.host.wait_for("ready"):
                raise Trouble(f"The host doesn't start: {self.host.error_text}")
        except BaseException:
            self.stack.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stack.close()

    def start(self, words: Sequence[object], state: pathlib.Path, niceness: int = FIRST) -> Program:
        program = Program([str(word) for word in words], state)
        self.stack.callback(program.end)
        set_niceness(program.pid, niceness)
        return program

    def watch(self, count: int | None = None) -> None:
        """Starts real viewers, which decode."""
        for number in range(self.place.options.real if count is None else count):
            viewer = self.start([self.place.program, "watch", f"127.0.0.1:{self.port}", "--no-window", "--json",
                                 "--time-limit", "300"], self.place.population / f"real-{number}")
            self.real.append(viewer)

    def misbehave(self, peers: list[str], seconds: float, first: int) -> None:
        """Starts a process for each of `peers` (lists of kinds), with the keys from number `first` on."""
        for number, kinds in enumerate(peers, first):
            key = self.place.population / "crowd" / f"{number}.pem"
            peer = self.start([sys.executable, "-B", "-m", "lab.bench.crowd.misbehaving", kinds, "--port", self.port,
                               "--key", key, "--source", f"127.0.{1 + number // 250}.{1 + number % 250}", "--name",
                               f"crowd {number}", "--seconds", seconds], self.place.directory, niceness=LAST)
            self.misbehaving.append((peer, kinds, number))

    def crowd(self, groups: Sequence[str], begin: float, seconds: float, first: int = 0, at: Sequence[str] = (),
              target: str = "127.0.0.1", more: Sequence[object] = ()) -> Program:
        """Starts light viewers. `at`: a command prefix that enters a network namespace."""
        words = [*at, self.place.crowd, "watch", f"{target}:{self.port}", "--directory", self.place.population,
                 "--begin", begin, "--seconds", seconds, "--first", first, *more]
        for group in groups:
            words += ["--group", group]
        return self.start(words, self.place.directory)

    def measure(self, crowd: Program) -> dict[str, Any]:
        """The figures between the crowd's `begin` and `end`, including its result."""
        begin = self.moment(crowd, "begin")
        before, started = self.sample(crowd), time.monotonic()
        self.moment(crowd, "end")
        after, ended = self.sample(crowd), time.monotonic()
        found = self.result_of(crowd)
        if self.host.fate:
            raise Trouble(f"The host ended by {self.host.fate}: {self.host.error_text}")
        span = ended - started
        return {
            "crowd": found, "host_cpu": (after["host"] - before["host"]) / span,
            "crowd_cpu": (after["crowd"] - before["crowd"]) / span,
            "idle": (after["idle"] - before["idle"]) / span / (os.cpu_count() or 1),
            "rss": after["rss"], "peak": after["peak"], "begin": begin,
            "real": [self.real_figures(viewer, started, ended) for viewer in self.real],
            "host_events": self.told(), "load": os.getloadavg()[0],
        }

    @staticmethod
    def result_of(crowd: Program) -> dict[str, Any]:
        found = crowd.wait_for("result", 60)
        if found is None:
            raise Trouble(f"The viewers came to no result: {crowd.error_text}")
        for viewer in found["viewers"]:
            # Missing files are left out.
            for name in ("pairedMs", "firstPictureMs", "latencyMs", "order", "ended"):
                viewer.setdefault(name, None)
        return found

    def moment(self, crowd: Program, name: str) -> float:
        event = crowd.wait_for(name, 120)
        if event is None:
            raise Trouble(f"The viewers came to no {name}: {crowd.error_text}")
        return event["time"]

    def sample(self, crowd: Program) -> dict[str, Any]:
        memory = memory_of(self.host.pid)
        with open("/proc/stat") as file:
            idle = int(file.readline().split()[4]) / os.sysconf("SC_CLK_TCK")
        return {"host": self.host.processor(), "crowd": crowd.processor(), "idle": idle, **memory}

    @staticmethod
    def real_figures(viewer: Program, begin: float, end: float) -> dict[str, Any]:
        lines = [event for event in viewer.named("stats", begin + 0.5) if event["at"] <= end + 0.5]
        latencies = [line["latencyMs"]["captureToPicture"] for line in lines
                     if "captureToPicture" in line.get("latencyMs", {})]
        return {"fps": median([line["fps"] for line in lines]),
                "lowest": min((line["fps"] for line in lines), default=0),
                "median": median([one["median"] for one in latencies]),
                "p95": median([one["p95"] for one in latencies])}

    def told(self) -> list[dict[str, Any]]:
        """The host's reasons for viewers that left or were refused."""
        return [{"name": event.get("name"), "reason": event.get("reason")}
                for event in self.host.events if event["event"] in ("viewer-left", "refused")]

    def end_misbehaving(self) -> list[dict[str, Any]]:
        """Ends the misbehaving viewers; returns the result of each."""
        found = []
        for peer, _, _ in self.misbehaving:
            # A process that has stopped itself must be continued before it can end.
            with contextlib.suppress(ProcessLookupError):
                os.kill(peer.pid, signal.SIGCONT)
            peer.process.terminate()
        for peer, kinds, number in self.misbehaving:
            said = peer.wait_for("misbehaved", 6)
            found.append({"kinds": kinds, "name": f"crowd {number}",
                          **({"joins": said["joins"], "endings": said["endings"]} if said
                             else {"trouble": peer.error_text[-400:]})})
        return found


class Networks:
    """Viewers with their own links, each in a network namespace, for one scene."""

    def __init__(self, place: Place, links: Sequence[str]) -> None:
        self.place, self.links = place, links

    def __enter__(self) -> Self:
        self.stack = contextlib.ExitStack()
        try:
            self.ends = []
            for number, settings in enumerate(self.links, 1):
                pid = self.stack.enter_context(namespace(self.place.log))
                self.stack.enter_context(links.Relay(self.place.log, pid, settings, (), number, number))
                self.ends.append((entering(pid), f"10.77.{number}.1"))
        except BaseException:
            self.stack.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stack.close()


def set_niceness(session: int, niceness: int) -> None:
    """Sets the niceness of a session. If the kernel schedules sessions as groups (sched(7), autogroup), a process's own
    niceness counts only within its session.
    """
    with contextlib.suppress(OSError):
        pathlib.Path(f"/proc/{session}/autogroup").write_text(str(niceness))


def memory_of(pid: int) -> dict[str, Any]:
    """In KiB: resident memory, the part of it that isn't files, and its peak."""
    found = processes.memory(pid)
    return {"rss": found.get("VmRSS", 0), "own": found.get("RssAnon", 0), "peak": found.get("VmHWM", 0)}
