"""Members of a room, each in a network of its own."""

import argparse
import contextlib
import json
import pathlib
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Self

from lab.bench.room.cables import Cables
from lab.common.members import Member
from lab.common.processes import wait
from lab.common.trouble import Trouble


class Person:
    """A member of the room, which can be ended, started again, frozen and moved."""

    def __init__(self, stack: contextlib.ExitStack, directory: pathlib.Path, cables: Cables, number: int, *more: str) -> None:
        self.stack, self.cables, self.number, self.more = stack, cables, number, more
        self.name = f"Member {number}"
        self.state = directory / f"member{number}"
        # From `start` on.
        self.program: Any = None

    def start(self, *arguments: str) -> Self:
        self.program = Member(
            self.stack, self.state,
            ["room", *arguments, "--no-discovery", *([] if "--window-display" in self.more else ["--no-window"]),
             "--name", self.name, "--accept", "all", "--relays", "all", "--source",
             "pattern", *self.more], self.cables.at(self.number))
        return self

    def people(self) -> dict[str, Any]:
        """Who is here by what was told last: names, and the number of hops to each."""
        line = next((line for line in reversed(self.program.lines[:]) if '"event":"people"' in line.text), None)
        if not line:
            return {}
        return {person["name"]: person["hops"] for person in json.loads(line.text)["people"] if person["here"]}

    def sees(self, names: Iterable[str]) -> bool:
        return set(self.people()) == set(names)

    def log(self) -> dict[str, list[int]]:
        """The words of each author in the order in which they came."""
        return self.program.by_author("note", "caption")

    def last_words_at(self) -> float:
        """When the newest words came."""
        return max(self.program.last_time("note"), self.program.last_time("caption"))


def meet(options: argparse.Namespace, directory: pathlib.Path, stack: contextlib.ExitStack, count: int,
         losses: str | None = None, more: Callable[[int], Sequence[str]] = lambda number: (),
         ) -> tuple[Cables, list[Person], dict[str, Any]]:
    """So many members in one room; the first has made it, and the others have entered through it at the same time."""
    cables = Cables(stack, directory, count, losses)
    people = [Person(stack, directory, cables, number, *more(number)) for number in range(1, count + 1)]
    people[0].start("study").program.first("ready", 60)
    for person in people[1:]:
        person.start("--at", cables.address(1))
    begin = time.monotonic()
    names = [person.name for person in people]
    try:
        wait("all to know all", 60, lambda: all(person.sees(names) for person in people))
    except Trouble as trouble:
        said = "\n".join(f"{person.name}: {person.program.last_words()}" for person in people)
        raise Trouble(f"{trouble}\n{said}") from trouble
    last = max(person.program.first("ready")["t"] for person in people)
    # From the last one's start; the others wait for nobody.
    took = max(seen_at(person, names) for person in people) - begin
    return cables, people, {"members": count, "all_know_all": took, "last_ready": last}


def seen_at(person: Person, names: Iterable[str]) -> float:
    """When the person first knew all of these."""
    for line in person.program.lines[:]:
        if '"event":"people"' in line.text:
            here = {one["name"] for one in json.loads(line.text)["people"] if one["here"]}
            if here == set(names):
                return line.time
    raise Trouble(f"{person.name} doesn't know all.")
