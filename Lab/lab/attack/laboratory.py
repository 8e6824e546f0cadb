"""Runs attacks: a new host and an honest viewer for each, what the viewer received, and the verdict."""

from __future__ import annotations

import contextlib
import dataclasses
import multiprocessing
import os
import pathlib
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Self

from lab.attack import wire
from lab.attack.peer import Peer
from lab.common import isolation
from lab.common.catalogue import Case
from lab.common.programs import Program, free_port
from lab.common.states import CODE, States

# What a person notices, and an attack must not cause: memory of host or viewer in MB, frames a second of 60 at the viewer,
# latency in ms.
MOST_MEGABYTES = 256
LEAST_FRAMES = 57
MOST_LATENCY = 50
# Share of the undisturbed rate that is required on a machine that doesn't reach 60.
LEAST_RATIO = 0.95


# A number; None if it wasn't measured.
Figure = Any


@dataclasses.dataclass
class Row:
    """The result of one attack."""
    name: str
    tried: str
    came: str = "nothing"
    words: str = ""
    lowest: Figure = None
    mean: Figure = None
    ratio: Figure = None
    latency: Figure = None
    host_megabytes: Figure = None
    viewer_megabytes: Figure = None
    host_processor: Figure = None
    viewer_processor: Figure = None
    seconds: Figure = None
    # No picture for two seconds.
    froze: bool = False
    # The honest viewer's frames, second by second.
    rates: list = dataclasses.field(default_factory=list)

    @property
    def is_well(self) -> bool:
        return self.came in ("nothing", "not played")


class Verdict(Exception):
    """Ends an attack early, with `came` as its result."""

    def __init__(self, came: str, words: str) -> None:
        super().__init__(words)
        self.came = came


class NotPlayed(Exception):
    """This machine or this program lacks something that the attack needs."""


class Attack(Case):
    """One attack."""

    # False if the honest viewer's pictures aren't judged, because the attack is on it, or is to stop them.
    judges_pictures = True
    # Allowed seconds with too few frames: a viewer that lies is detected within one, which may overlap two of the
    # honest viewer's seconds.
    slow_seconds = 0

    def play(self, lab: Laboratory, row: Row) -> None:
        """Runs the attack and fills `row.words`. If it worked, sets `row.came` or raises Verdict."""
        raise NotImplementedError


class Apart:
    """Runs a function in a process of its own, so that the attack doesn't slow down the measurement."""

    def __init__(self, function: Callable[..., Any], *arguments: Any) -> None:
        self.results = multiprocessing.get_context("fork").SimpleQueue()
        self.process = multiprocessing.get_context("fork").Process(
            target=self._run, args=(function, arguments), daemon=True)
        self.process.start()

    def _run(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        try:
            # The attacker must not take processor time from host and honest viewer.
            os.nice(5)
            self.results.put(function(*arguments))
        except BaseException:
            self.results.put(RuntimeError(traceback.format_exc()))

    def result(self, timeout: float = 60) -> Any:
        """The function's result."""
        deadline = time.monotonic() + timeout
        while self.results.empty():
            if time.monotonic() > deadline or (not self.process.is_alive() and self.results.empty()):
                self.end()
                raise RuntimeError("the attacker's process didn't come to its end")
            time.sleep(0.02)
        answer = self.results.get()
        self.end()
        if isinstance(answer, RuntimeError):
            raise answer
        return answer

    def end(self) -> None:
        if self.process.is_alive():
            self.process.terminate()
        self.process.join(5)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()


class Laboratory:
    def __init__(self, program: str, directory: str, short: bool = False, size: str = "640x360") -> None:
        self.program, self.directory, self.short, self.size = program, pathlib.Path(directory), short, size
        self.identities = {}
        self.undisturbed: Row | None = None
        self.has_own_network = isolation.has_own_network()
        port = free_port()
        self.states = States(self.directory, self.directory,
                             lambda state: self.share(state, port, "--code", CODE, "--accept", "none"),
                             lambda state: self.watch(state, port, "--code", CODE))

    def seconds(self, whole: float, short: float | None = None) -> Any:
        return (short or whole / 2) if self.short else whole

    def identity(self, name: str = "attacker") -> wire.Identity:
        if name not in self.identities:
            self.identities[name] = wire.Identity(str(self.directory), name)
        return self.identities[name]

    def state(self, kind: str | None = None) -> pathlib.Path:
        """A new state directory; with `kind` a copy of the paired host's or viewer's."""
        return self.states.new(kind)

    def share(self, state: pathlib.Path, port: int, *words: str, bind: str = "127.0.0.1", media_port: int | None = None,
              source: Sequence[str] = (), **how: Any) -> Program:
        """`source`: options that say what is shared, instead of the test pattern."""
        shown = source or ["--source", "pattern", "--size", self.size]
        command = [self.program, "share", *shown, "--no-discovery", "--json", "--name", "desk", "--bind", bind, "--port",
                   str(port), "--media-port", str(media_port or free_port()), "--time-limit", "150", *words]
        host = Program(command, state, **how)
        if not host.wait_for("ready"):
            host.end()
            raise RuntimeError(f"the host doesn't start: {host.error_text}")
        return host

    def watch(self, state: pathlib.Path, port: int, *words: str, address: str = "127.0.0.1", **how: Any) -> Program:
        target = f"[{address}]:{port}" if ":" in address else f"{address}:{port}"
        return Program([self.program, "watch", target, "--no-window", "--json", "--time-limit", "150", *words],
                       state, **how)

    @contextlib.contextmanager
    def scene(self, *words: str, accept: str | None = "all", bind: str = "127.0.0.1", viewer: bool = True,
              **how: Any) -> Iterator[Scene]:
        """A host, and an honest viewer that it knows and that watches."""
        scene = Scene(self)
        try:
            scene.begin(words, accept, bind, viewer, how)
            yield scene
        finally:
            scene.end()


class Scene:
    """A host and its honest viewer, and what the viewer received between `begin_attack` and `end_attack`."""

    def __init__(self, lab: Laboratory) -> None:
        self.lab = lab
        # Programs; None if there is none.
        self.host: Any = None
        self.viewer: Any = None
        self.peers = []

    def begin(self, words: tuple[str, ...], accept: str | None, bind: str, viewer: bool, how: dict[str, Any]) -> None:
        self.port, self.media_port, self.address = free_port(), free_port(), bind
        self.host_state = self.lab.state("host")
        self.host = self.lab.share(self.host_state, self.port, *(["--accept", accept] if accept else []), *words,
                                   bind=bind, media_port=self.media_port, **how)
        if viewer:
            self.viewer = self.lab.watch(self.lab.state("viewer"), self.port, address=bind)
            if not self.viewer.wait_for("first-frame"):
                raise RuntimeError(f"the honest viewer sees nothing: {self.host.error_text} {self.viewer.error_text}")
            # The first second includes the start of the decoder.
            since = time.monotonic()
            self.viewer.wait(lambda: len(self.viewer.named("stats", since)) >= 2, 5)

    def end(self) -> None:
        for peer in self.peers:
            peer.close()
        for program in (self.viewer, self.host):
            if program:
                program.end()

    def peer(self, source: str | None = None, identity: str = "attacker", timeout: float = 5) -> Peer:
        """An attacker's connection."""
        peer = Peer(self.address, self.port, self.lab.identity(identity), source, timeout)
        self.peers.append(peer)
        return peer

    @contextlib.contextmanager
    def attack(self, row: Row) -> Iterator[None]:
        """The row gets what the honest viewer receives in this block."""
        begin = time.monotonic()
        programs = {"host": self.host, "viewer": self.viewer}
        before = {name: program.processor() for name, program in programs.items() if program}
        try:
            yield
        finally:
            end = time.monotonic()
            row.seconds = end - begin
            for name, used in before.items():
                setattr(row, f"{name}_processor", (programs[name].processor() - used) / max(0.1, end - begin))
            if self.viewer:
                # The `stats` line for the end of the attack.
                self.viewer.wait(lambda: any(event["at"] >= end for event in self.viewer.named("stats", begin)), 1.5)
                pictures_into(row, self.viewer, begin, end)
            self.memory_into(row)

    def memory_into(self, row: Row) -> None:
        if self.host:
            row.host_megabytes = self.host.peak
        if self.viewer:
            row.viewer_megabytes = self.viewer.peak
        for name, program in (("host", self.host), ("viewer", self.viewer)):
            if program and program.fate:
                row.came = "down" if program.peak < 1000 else "memory"
                row.words = f"the {name} ended by {program.fate}"


def pictures_into(row: Row, viewer: Any, begin: float, end: float) -> None:
    """The viewer's frames in its lowest second and on average, and the worst second's 95th percentile of latency."""
    lines = [event for event in viewer.named("stats", begin + 0.3) if event["at"] <= end + 1.3]
    rates = [line["fps"] for line in lines]
    if viewer.fate or not rates:
        row.lowest, row.mean = 0, 0
        return
    row.rates = [round(rate) for rate in rates]
    row.lowest, row.mean = min(rates), sum(rates) / len(rates)
    latencies = [line["latencyMs"]["captureToPicture"]["p95"] for line in lines
                 if "captureToPicture" in line.get("latencyMs", {})]
    row.latency = max(latencies, default=None)
    pairs = list(zip(rates, rates[1:]))
    row.froze = bool(pairs) and any(first < 5 and second < 5 for first, second in pairs)


def judge(row: Row, attack: type[Attack], lab: Laboratory) -> None:
    """Sets the result, if the attack hasn't."""
    if row.came != "nothing":
        return
    if max(row.host_megabytes or 0, row.viewer_megabytes or 0) > MOST_MEGABYTES:
        row.came = "memory"
    elif attack.judges_pictures and row.lowest is not None:
        reference = lab.undisturbed.lowest if lab.undisturbed else 60
        if lab.short:
            # The machine may be busy with other tests: only a picture that stands still counts.
            row.came = "frozen" if row.froze or row.mean < 10 else "nothing"
        elif sum(rate < min(LEAST_FRAMES, LEAST_RATIO * reference) for rate in row.rates) > attack.slow_seconds:
            row.came = "frozen" if row.lowest < 5 else "slow"
        elif row.lowest == 0 and not row.rates:
            row.came = "frozen"
        elif row.latency is not None and row.latency >= MOST_LATENCY and not attack.slow_seconds:
            row.came = "slow"


def play(attack: type[Attack], lab: Laboratory) -> Row:
    """One row. An attack that is only slow is run again: the machine may have been busy, and an attack that works
    works again.
    """
    row = play_once(attack, lab)
    if row.came != "slow":
        return row
    again = play_once(attack, lab)
    better, other = sorted((again, row), key=lambda row: (row.is_well, row.lowest or 0), reverse=True)
    better.words += f"; the other time {other.lowest or 0:.0f} / {other.mean or 0:.1f} frames a second"
    return better


def play_once(attack: type[Attack], lab: Laboratory) -> Row:
    row = Row(attack.name, attack.title())
    begin = time.monotonic()
    try:
        attack().play(lab, row)
    except Verdict as verdict:
        row.came, row.words = verdict.came, str(verdict)
    except NotPlayed as reason:
        row.came, row.words = "not played", str(reason)
    except Exception as error:
        # The attack itself failed, so the result says nothing about the program.
        if row.came == "nothing":
            row.came = "unclear"
            row.words = f"{row.words + '; ' if row.words else ''}{type(error).__name__}: {error}"
            if os.environ.get("BEAMROOM_ATTACK_DEBUG"):
                traceback.print_exc()
    judge(row, attack, lab)
    if lab.undisturbed and lab.undisturbed.mean and row.mean is not None:
        row.ratio = row.mean / lab.undisturbed.mean
    row.seconds = time.monotonic() - begin
    return row
