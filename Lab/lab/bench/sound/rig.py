"""Both ends of a measurement of sound: a sound server for each, the laboratory's link between them, and what listens."""

import argparse
import contextlib
import os
import pathlib
import subprocess
import threading
from collections.abc import Sequence
from typing import IO, Any, Self

from lab.bench.sound.listening import Recording
from lab.bench.sound.servers import KINDS, SPEAKER, Server
from lab.common.members import HOST_PORT, Member
from lab.common.namespaces import entering, namespace
from lab.common.processes import end, wait
from lab.common.screens import new_screen
from lab.common.trouble import Trouble
from lab.network import links, networks

#: Of the host's screen, for rows that are about the sound. A screen, because a test pattern and a film bring their own sound.
SIZE = (640, 360)
MONITOR = f"{SPEAKER}.monitor"
#: What a recorder gets at a time, in seconds: 128 samples, a step of PipeWire while BeamRoom plays. PipeWire gives whole
#: fragments only. With 120 samples, the end of each step would wait for the next one, and clicks would seem 1.2 ms later.
FRAGMENT = 128 / 48000
#: PipeWire gives a recorder 256 samples or more at a time otherwise.
STEPS = {"record": {"PULSE_PROP": "pulse.min.frag=128/48000"}}


class Probe:
    """A running soundprobe, with the times that it prints."""

    def __init__(self, stack: contextlib.ExitStack, log: IO[str], server: Server | None, command: str, *words: str,
                 **options: object) -> None:
        arguments = [f"--{name}={value}" for name, value in options.items() if value is not None]
        environment = {**os.environ, **(server.environment if server else {}), **STEPS.get(command, {})}
        self.command, self.lines = command, []
        self.process = subprocess.Popen([os.environ["BEAMROOM_SOUNDPROBE"], command, *words, *arguments],
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, text=True,
                                        env=environment, start_new_session=True)
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()
        stack.callback(self.end)
        wait(f"soundprobe {command}", 20, lambda: self.times("ready") or self.process.poll() is not None)
        if self.process.poll() not in (None, 0):
            raise Trouble(f"soundprobe {command} ended with status {self.process.returncode}.")

    def _read(self) -> None:
        for line in self.process.stdout:
            kind, _, value = line.strip().partition(" ")
            self.lines.append((kind, float(value)))

    def times(self, kind: str) -> list[float]:
        return [value for found, value in self.lines[:] if found == kind]

    def end(self) -> Self:
        end(self.process)
        self.reader.join(5)
        return self


class Recorder(Probe):
    """A recorder of a sink's monitor. While it runs, the sink doesn't become idle."""

    def __init__(self, stack: contextlib.ExitStack, log: IO[str], server: Server | None, path: pathlib.Path,
                 device: str | None = MONITOR, fragment: float = FRAGMENT) -> None:
        self.path = pathlib.Path(path)
        super().__init__(stack, log, server, "record", file=path, device=device, latency=fragment)

    def recording(self) -> Recording:
        return Recording(self.path)


class Rig:
    """A host in this network namespace, and viewers in others, each with a sound server. It ends with the stack."""

    def __init__(self, options: argparse.Namespace, kind: str, directory: pathlib.Path, stack: contextlib.ExitStack) -> None:
        self.stack, self.directory = stack, pathlib.Path(directory) / kind
        self.directory.mkdir(parents=True)
        self.log = stack.enter_context(open(self.directory / "log", "a+"))
        self.prefers_relay = options.relay
        self.host, self.viewer = (KINDS[kind](stack, self.directory / f"{name}-sound", self.log).start()
                                  for name in ("host", "viewer"))
        self.screen, _ = new_screen(stack, *SIZE)
        self.viewer_end = stack.enter_context(namespace(self.log))
        self.at_viewer = entering(self.viewer_end)
        self.number = 0

    def _path(self, name: str) -> pathlib.Path:
        self.number += 1
        return self.directory / f"{self.number}-{name}"

    # --- Networks

    def link(self, name: str, seed: int = 1) -> links.Relay | links.Netem:
        """The link to the viewer's end, which begins as the network's base; `begin` adds its losses."""
        # For as long as a row may take.
        return links.link(networks.named(name), self.log, self.viewer_end, seed, self.prefers_relay, limit=7200)

    def second_end(self, name: str) -> tuple[list[str], str]:
        """Another viewer's end, with a link of its own: what runs there, and the host's address."""
        second = self.stack.enter_context(namespace(self.log))
        self.stack.enter_context(links.Relay(self.log, second, networks.named(name).base, number=1))
        return entering(second), "10.77.1.1"

    # --- Programs

    def _member(self, stack: contextlib.ExitStack, name: str, server: Server | None, arguments: list[str],
                at: Sequence[str] = (), more: dict[str, str] | None = None) -> Member:
        # The tests let SDL play nowhere.
        environment = {**server.environment, **(more or {})} if server else dict(more or {})
        words = ["env", "-u", "SDL_AUDIODRIVER", *(f"{key}={value}" for key, value in environment.items())]
        return Member(stack, self._path(name), arguments, [*at, *words])

    def share(self, stack: contextlib.ExitStack, *words: str, server: Server | None = None,
              picture: Sequence[str] | None = None) -> Member:
        """A host; without `picture` it shares the rig's screen, which rests unless `move` paints there."""
        shown = picture or ("--display", self.screen, "--no-cursor", "--max-fps", "30")
        member = self._member(stack, "share", server or self.host,
                              ["share", *shown, "--no-bluetooth", *Member.OPEN, *words])
        return self._begun(member, "ready")

    def watch(self, stack: contextlib.ExitStack, *words: str, server: Server | None = None,
              at: Sequence[str] | None = None, address: str = links.HOST) -> Member:
        """A viewer that has shown its first picture."""
        member = self._member(stack, "watch", server or self.viewer,
                              ["watch", f"{address}:{HOST_PORT}", "--no-bluetooth", *words],
                              self.at_viewer if at is None else at)
        return self._begun(member, "first-frame")

    @staticmethod
    def _begun(member: Member, event: str) -> Member:
        """Waits for the event; what has ended by itself never says it."""
        wait(f"{member.name} to say {event}", 60, lambda: member.count(event) or not member.is_running())
        if not member.count(event):
            raise Trouble(f"{member.name} ended by itself:\n{member.last_words()}")
        return member

    # --- Sounds

    def play(self, stack: contextlib.ExitStack, server: Server | None, **options: object) -> Probe:
        return Probe(stack, self.log, server, "play", **options)

    def record(self, stack: contextlib.ExitStack, server: Server | None, device: str | None = MONITOR,
               fragment: float = FRAGMENT) -> Recorder:
        return Recorder(stack, self.log, server, self._path("recording"), device, fragment)

    def beep(self, stack: contextlib.ExitStack, server: Server | None, **options: object) -> Probe:
        return Probe(stack, self.log, server, "beep", **options)

    def move(self, stack: contextlib.ExitStack) -> Probe:
        """Something that moves 30 times a second on the rig's screen."""
        return Probe(stack, self.log, None, "paint", display=self.screen)

    def flashes(self, stack: contextlib.ExitStack, display: str) -> Probe:
        return Probe(stack, self.log, None, "flashes", display=display)


# --- What a viewer says of its sound


def sounds(member: Member, begin: float = 0.0, end: float = float("inf")) -> list[dict[str, Any]]:
    """The objects `sound` of the events `stats` between two moments."""
    return [event["sound"] for event in member.named("stats", begin) if event["at"] <= end and event.get("sound")]


def newest(member: Member) -> dict[str, Any]:
    return next(iter(sounds(member)[-1:]), {})


def concealed(found: list[dict[str, Any]]) -> float | None:
    """The share of the time in % that was concealed between the first and the last of these; None if it isn't said."""
    counted = [sound for sound in found if sound.get("concealedMs") is not None and sound.get("packets") is not None]
    if len(counted) < 2:
        return None
    first, last = counted[0], counted[-1]
    lost, packets = last["concealedMs"] - first["concealedMs"], last["packets"] - first["packets"]
    # A packet is 10 ms.
    whole = packets * 10 + lost
    return 100 * lost / whole if whole else None
