"""A room of equals that is announced: two machines with discovery, and what a stranger learns there."""

from __future__ import annotations

import dataclasses
import json
import pathlib
import re
import shutil
import subprocess
import sys
from typing import Any

from lab.attack.equals import Room
from lab.attack.laboratory import Laboratory, NotPlayed
from lab.common import machines, processes
from lab.common.clocks import WallClock
from lab.common.programs import Program

SERVICE = "_beamroom._tcp"
# Of the two machines.
HONEST, OTHER = 0, 1


@dataclasses.dataclass
class Announcement:
    """What one member announces."""
    instance: str
    host: str
    addresses: list[str]
    port: int
    # The TXT record.
    room: str
    tag: str
    mark: str


class AnnouncedRoom(Room):
    """Anna's and Ben's programs are on one of the two machines. The room takes only those who bring the code."""

    def __init__(self, lab: Laboratory, code: str, clock: WallClock | None = None) -> None:
        """`clock`: of the honest programs."""
        super().__init__(lab)
        self.code, self.clock = code, clock
        self.states: dict[str, pathlib.Path] = {}

    def begin(self) -> None:
        trouble = machines.obstacle()
        if trouble or not shutil.which("avahi-browse"):
            raise NotPlayed(trouble or "there is no avahi-browse (package avahi-utils)")
        directory = self.lab.state()
        log = self.stack.enter_context(open(directory / "log", "w"))
        self.machines = machines.Machines(directory, self.stack, log)
        self.anna = self.start("anna", "study", "--code", self.code, *self.sharing)
        # At first by the address: discovery takes a moment.
        self.ben = self.start("ben", *self.at("anna"), "--code", self.code)
        if not self.ben.wait_for("first-frame", 20):
            raise RuntimeError(f"Ben sees nothing: {self.anna.error_text} {self.ben.error_text}")
        self.wait_for_announcements(2)

    def address(self, name: str) -> str:
        return self.machines.addresses[HONEST]

    def port(self, name: str) -> int:
        return int(self.programs[name][0].named("ready")[-1]["port"])

    def launch(self, name: str, *words: str, state: pathlib.Path | None = None) -> Program:
        """On its usual port, and with the state that it had before."""
        self.states.setdefault(name, state or self.lab.state())
        program = self.run(HONEST, name, *words, "--accept", "none", state=self.states[name], clock=self.clock)
        self.programs[name] = (program, 0)
        return program

    def run(self, number: int, name: str, *words: str, state: pathlib.Path, stdin: Any = subprocess.PIPE, stderr: Any = None,
            patient: bool = False, clock: WallClock | None = None) -> Program:
        """A member's program on that machine; `patient`: the others' come first."""
        nice = ["nice", "-n", "10"] if patient else []
        return Program([*self.machines.at(number), *nice, *(clock.command if clock else []), *self.command(name, *words)],
                       state, stdin=stdin, stderr=stderr)

    # --- What a stranger learns, on the other machine

    def announcements(self) -> list[Announcement]:
        """Of all members of all rooms."""
        done = subprocess.run([*self.machines.at(OTHER), "avahi-browse", "-rpt", SERVICE], capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=20)
        found: dict[str, Announcement] = {}
        for line in done.stdout.splitlines():
            kind, _, _, instance, _, _, *rest = line.split(";")
            record = dict(re.findall(r'"(\w+)=([^"]*)"', rest[3])) if kind == "=" else {}
            if "room" in record:
                host, address, port = rest[:3]
                one = found.setdefault(instance, Announcement(
                    instance, host, [], int(port), record["room"], record["m"], record["r"]))
                one.addresses.append(address)
        return list(found.values())

    def wait_for_announcements(self, count: int, seconds: float = 30) -> list[Announcement]:
        """Until so many are announced."""
        found = processes.first_true(lambda: [f for f in [self.announcements()] if len(f) >= count], seconds)
        if not found:
            raise RuntimeError(f"{count} members aren't announced in {seconds:.0f} s")
        return found[0]

    def knock(self, address: str, port: int) -> dict[str, str]:
        """What whoever connects to a door is told, field by field."""
        done = subprocess.run([*self.machines.at(OTHER), sys.executable, "-B", "-m", "lab.attack.stranger", address, str(port)],
                              capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=30)
        if done.returncode != 0:
            raise RuntimeError(f"nobody could knock at {address}:{port}: {done.stderr[-300:]}")
        return json.loads(done.stdout)
