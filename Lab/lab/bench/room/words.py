"""The row `words` of Scripts/bench room: words under loss, across a split, and by a detour."""

import argparse
import collections
import contextlib
import pathlib
import random
import time
from typing import Any

from lab.bench.room.cables import Cables
from lab.bench.room.people import Person, meet
from lab.common.processes import wait
from lab.common.tables import yes
from lab.common.trouble import Trouble


class Talk:
    """What members of a room have written, and what each of them has of it."""

    def __init__(self, people: list[Person]) -> None:
        self.people, self.random = people, random.Random(1)
        self.written = collections.Counter()

    def say(self, count: int) -> None:
        for _ in range(count):
            person = self.random.choice(self.people)
            self.written[person.name] += 1
            text = f"{person.name}:{self.written[person.name]}"
            person.program.write({"note": text} if self.random.random() < 0.5 else {"caption": text})
            time.sleep(0.004)

    def is_everywhere(self) -> bool:
        return all({author: len(numbers) for author, numbers in person.log().items()} == self.written
                   for person in self.people)

    def missing(self) -> dict[str, Any]:
        """Of each member, what it lacks."""
        return {person.name: {name: sorted(set(range(1, count + 1)) - set(person.log().get(name, [])))[:9]
                              for name, count in self.written.items() if len(person.log().get(name, [])) != count}
                for person in self.people}

    def wait_until_everywhere(self, what: str) -> float:
        """When the last word came to the last member."""
        try:
            wait(what, 120, self.is_everywhere)
        except Trouble as trouble:
            said = "\n".join(f"{person.name}, {person.people()}: {person.program.last_words()}" for person in self.people)
            raise Trouble(f"{trouble} Missing: {self.missing()}\n{said}") from trouble
        return max(person.last_words_at() for person in self.people)

    def arrived(self) -> float:
        """How long after the last word everybody had everything."""
        begin = time.monotonic()
        return max(0, self.wait_until_everywhere("everything to be everywhere") - begin)

    def figures(self) -> dict[str, Any]:
        logs = [person.log() for person in self.people]
        # Notes and captions are listed one after the other: each has to be in its order.
        kinds = [numbers for person in self.people for kind in ("note", "caption")
                 for numbers in person.program.by_author(kind).values()]
        return {"lost": sum(count - len(set(log.get(name, []))) for log in logs for name, count in self.written.items()),
                "twice": sum(len(numbers) - len(set(numbers)) for log in logs for numbers in log.values()),
                "out_of_order": sum(numbers != sorted(numbers) for numbers in kinds)}


def words(options: argparse.Namespace, directory: pathlib.Path, stack: contextlib.ExitStack) -> dict[str, Any]:
    cables, people, row = meet(options, directory, stack, options.members, "loss=2.5%,delay=1ms")
    talk = Talk(people)
    talk.say(options.words)
    row["words"], row["arrived"] = options.words, talk.arrived()
    split(options, cables, talk, row)
    # One link of the mesh is missing.
    wait("the whole mesh", 60, lambda: set(people[0].people().values()) == {0, 1})
    cables.cut([(1, len(people))])
    wait("the detour", 60, lambda: people[0].people().get(people[-1].name) == 2)
    talk.say(options.words // 5)
    row["detour"] = talk.arrived()
    row["hops"] = people[0].people().get(people[-1].name)
    row.update(talk.figures())
    row["wrong"] = row["lost"] or row["twice"] or row["out_of_order"] or not row["kept_apart"]
    row["packets_lost"] = cables.end()
    return row


def split(options: argparse.Namespace, cables: Cables, talk: Talk, row: dict[str, Any]) -> None:
    """Two halves, which go on; then they are joined again."""
    people, half = talk.people, len(talk.people) // 2
    names = [person.name for person in people]
    cables.cut([(one, other) for one in range(1, half + 1) for other in range(half + 1, len(people) + 1)])
    begin = time.monotonic()
    wait("each half to be alone", 30, lambda: all(person.sees(names[:half]) for person in people[:half])
         and all(person.sees(names[half:]) for person in people[half:]))
    row["noticed"] = time.monotonic() - begin
    talk.say(options.words // 5)
    time.sleep(max(0, options.split - (time.monotonic() - begin)))
    row["kept_apart"] = int(not any(person.log() == people[-1].log() for person in people[:half]))
    healed = time.monotonic()
    cables.join()
    row["healed"] = talk.wait_until_everywhere("everything to be everywhere again") - healed
    wait("all to know all again", 60, lambda: all(person.sees(names) for person in people))


def words_lines(row: dict[str, Any]) -> list[list[str]]:
    count = row["members"]
    return [
        [f"{count} members in {count} networks, 5 % loss between any two, entering at once: all know all", "3 s",
         f"{row['all_know_all']:.2f} s", yes(row["all_know_all"] <= 3)],
        [f"{row['words']} notes and captions of all: lost, twice, out of order; the last one is everywhere after", "0; 0; 0",
         f"{row['lost']}; {row['twice']}; {row['out_of_order']}; {row['arrived']:.2f} s", yes(not row["wrong"])],
        ["two halves: each knows that it is alone after", "5 s", f"{row['noticed']:.2f} s", yes(row["noticed"] <= 5)],
        ["joined again: all logs equal after", "2 s", f"{row['healed']:.2f} s", yes(row["healed"] <= 2)],
        ["one link of the mesh missing: hops; the last word everywhere after", "2",
         f"{row['hops']}; {row['detour']:.2f} s", yes(row["hops"] == 2)],
    ]
