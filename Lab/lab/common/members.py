"""Programs that are written to and read line by line: hosts, viewers and members of rooms."""

import contextlib
import json
import os
import pathlib
import subprocess
import time
from collections.abc import Sequence
from typing import Any

from lab.common.processes import end
from lab.common.programs import Event, Line, Program
from lab.common.trouble import Trouble

HOST_PORT = 52345


class Member(Program):
    """The program named by BEAMROOM with --json, until the stack ends. While it is measured nothing is decoded: what it has
    said is found by marks in its lines.
    """

    # Lets in whoever comes.
    OPEN = ("--no-discovery", "--accept", "all", "--name", "Desk")

    def __init__(self, stack: contextlib.ExitStack, state: pathlib.Path, arguments: Sequence[str],
                 at: Sequence[str] = ()) -> None:
        self.name = arguments[0]
        self.sent: set[int] = set()
        self.results = 0
        super().__init__([*at, os.environ["BEAMROOM"], *arguments, "--json"], state, stdin=subprocess.PIPE,
                         is_watched=False)
        stack.callback(self.kill)

    @classmethod
    def share(cls, stack: contextlib.ExitStack, state: pathlib.Path, *more: str, bind: str = "127.0.0.1") -> "Member":
        member = cls(stack, state, ["share", "--source", "pattern", "--size", "320x180", "--max-fps", "10",
                                    *cls.OPEN, "--bind", bind, *more])
        member.first("ready")
        return member

    @classmethod
    def watch(cls, stack: contextlib.ExitStack, state: pathlib.Path, at: Sequence[str] = (),
              address: str = "127.0.0.1") -> "Member":
        return cls(stack, state, ["watch", f"{address}:{HOST_PORT}", "--no-window"], at)

    def _take(self, line: Line) -> None:
        super()._take(line)
        if '"event":"delivered"' in line.text or '"event":"undelivered"' in line.text:
            self.results += 1

    # --- What it says

    def find(self, mark: str, start: int = 0) -> Line | None:
        return next((line for line in self.lines[start:] if mark in line.text), None)

    def line(self, mark: str, seconds: float = 30) -> Line:
        """Waits for the line with `mark`."""
        limit, looked = time.monotonic() + seconds, 0
        with self.changed:
            while True:
                found = self.find(mark, looked)
                if found:
                    return found
                looked = len(self.lines)
                if not self.changed.wait(max(0, limit - time.monotonic())):
                    raise Trouble(f"{self.name} never said {mark}. Its last words:\n{self.last_words()}")

    def first(self, event: str, seconds: float = 30) -> Event:
        return json.loads(self.line(f'"event":"{event}"', seconds).text)

    def has(self, mark: str) -> bool:
        return self.find(mark) is not None

    def _of(self, event: str, start: int = 0) -> list[Line]:
        mark = f'"event":"{event}"'
        return [line for line in self.lines[start:] if mark in line.text and '"partial":true' not in line.text]

    def count(self, event: str) -> int:
        return len(self._of(event))

    def last_time(self, event: str) -> float:
        return self._of(event)[-1].time

    def told(self, event: str, start: int = 0) -> list[Event]:
        """The events of this name in the lines from `start` on."""
        return [json.loads(line.text) for line in self._of(event, start)]

    def figures_by_host(self, start: int) -> dict[str, list[Event]]:
        """A viewer's figures of each second for each host, in the lines from `start` on."""
        found: dict[str, list[Event]] = {}
        for event in self.told("stats", start):
            if "host" in event:
                found.setdefault(event["host"], []).append(event)
        return found

    def by_author(self, *kinds: str) -> dict[str, list[int]]:
        """The numbers of words of the form AUTHOR:NUMBER, for each author in the order in which they came."""
        log: dict[str, list[int]] = {}
        for kind in kinds:
            for event in self.told(kind):
                author, _, number = event["text"].partition(":")
                if number:
                    log.setdefault(author, []).append(int(number))
        return log

    # --- What is written to it

    def write(self, fields: dict[str, Any]) -> None:
        assert self.process.stdin
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.write(json.dumps(fields).encode() + b"\n")
            self.process.stdin.flush()

    def note(self, text: str) -> None:
        self.write({"note": text})

    def message(self, number: int) -> None:
        self.sent.add(number)
        self.write({"message": number, "id": str(number)})

    def waiting(self) -> int:
        """How many of its messages have no result."""
        return len(self.sent) - self.results

    # --- Its end

    def end(self) -> None:
        end(self.process)
        self.threads[0].join(10)

    def kill(self) -> None:
        super().kill()
        self.threads[0].join(10)


def rate_of(events: list[Event], key: str) -> float:
    """How much a counter grows in a second."""
    first, last = events[0], events[-1]
    return (last[key] - first[key]) / (last["t"] - first["t"]) if last["t"] > first["t"] else 0
