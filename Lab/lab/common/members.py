"""Hosts and viewers of `Scripts/bench words`: processes that are written to and read line by line."""

import json
import os
import pathlib
import subprocess
import threading
import time
import typing

from lab.common.laboratory import Trouble, end

HOST_PORT = 52345


class Line(typing.NamedTuple):
    # In seconds of CLOCK_MONOTONIC.
    time: float
    text: str


def wait(what, seconds, is_done):
    limit = time.monotonic() + seconds
    while not is_done():
        if time.monotonic() > limit:
            raise Trouble(f"Waited {seconds:g} s for {what}.")
        time.sleep(0.01)


class Member:
    """A running program with --json. Its lines are only stored while it is measured, and decoded afterwards."""

    def __init__(self, stack, state, arguments, at=()):
        pathlib.Path(state).mkdir(parents=True, exist_ok=True)
        self.name = arguments[0]
        self.lines = []
        self.sent = set()
        self.results = 0
        self.changed = threading.Condition()
        self.errors = open(pathlib.Path(state) / "errors", "a+")
        self.process = subprocess.Popen(
            [*at, os.environ["BEAMROOM"], *arguments, "--json"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=self.errors, env={**os.environ, "XDG_STATE_HOME": str(state)}, start_new_session=True)
        stack.callback(self._close)
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    # Lets in whoever comes.
    OPEN = ("--no-discovery", "--accept", "all", "--name", "Desk")

    @classmethod
    def share(cls, stack, state, *more, bind="127.0.0.1"):
        member = cls(stack, state, ["share", "--source", "pattern", "--size", "320x180", "--max-fps", "10",
                                    *cls.OPEN, "--bind", bind, *more])
        member.first("ready")
        return member

    @classmethod
    def watch(cls, stack, state, at=(), address="127.0.0.1"):
        return cls(stack, state, ["watch", f"{address}:{HOST_PORT}", "--no-window"], at)

    def _read(self):
        for line in self.process.stdout:
            now = time.monotonic()
            text = line.decode(errors="replace").rstrip("\n")
            with self.changed:
                self.lines.append(Line(now, text))
                if '"event":"delivered"' in text or '"event":"undelivered"' in text:
                    self.results += 1
                self.changed.notify_all()

    # --- What it says

    def find(self, mark, start=0):
        return next((line for line in self.lines[start:] if mark in line.text), None)

    def line(self, mark, seconds=30):
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

    def first(self, event, seconds=30):
        return json.loads(self.line(f'"event":"{event}"', seconds).text)

    def has(self, mark):
        return self.find(mark) is not None

    def _of(self, event):
        mark = f'"event":"{event}"'
        return [line for line in self.lines[:] if mark in line.text and '"partial":true' not in line.text]

    def count(self, event):
        return len(self._of(event))

    def last_time(self, event):
        return self._of(event)[-1].time

    def events(self, event):
        return [json.loads(line.text) for line in self._of(event)]

    def last_words(self):
        self.errors.seek(0)
        return "\n".join(self.errors.read().splitlines()[-8:])

    # --- What is written to it

    def write(self, fields):
        try:
            self.process.stdin.write(json.dumps(fields).encode() + b"\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass

    def note(self, text):
        self.write({"note": text})

    def message(self, number):
        self.sent.add(number)
        self.write({"message": number, "id": str(number)})

    def waiting(self):
        """How many of its messages have no result."""
        return len(self.sent) - self.results

    def is_open(self):
        return self.process.poll() is None

    # --- Its end

    def end(self):
        """As by Ctrl-C: what it has is written out."""
        end(self.process)
        self.reader.join(10)

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.reader.join(10)

    def _close(self):
        self.kill()
        self.errors.close()
