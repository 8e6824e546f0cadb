"""Attacks on whoever looks for a room of equals, and on whoever is in one, by strangers on the same network."""

import contextlib
import os
import subprocess
import time
from collections.abc import Iterator

from lab.attack.announced import HONEST, OTHER, SERVICE, AnnouncedRoom, Announcement
from lab.attack.equals import OnRoom, Room
from lab.attack.laboratory import Laboratory, NotPlayed, Row
from lab.common import processes
from lab.common.clocks import WallClock
from lab.common.programs import Program, Terminal
from lab.common.states import CODE

# A question in the terminal takes no answer that was typed before it could be read.
READING_SECONDS = 1.5
DAY_SECONDS = 86400


class Twin(OnRoom):
    """Somebody announces a room of the same name, with more members, and lets everybody in. Newcomers look for that name and
    are to share their screens and captions.

    Of four: without a code; with a person who picks the false room and then says that it isn't the right one; with the right
    room's code; and where only the false room is seen.
    """

    name = "equals-twin"

    def room(self, lab: Laboratory) -> Room:
        self.scene = AnnouncedRoom(lab, CODE)
        return self.scene

    def begin(self, scene: Room, lab: Laboratory) -> None:
        # Made where it can't see the other one, in front of which it would give way; then somebody writes in it.
        state = lab.state()
        words = ("study", "--accept", "all")
        with self.scene.run(OTHER, "twin", *words, "--no-discovery", state=state) as program:
            store = state / "beamroom" / "rooms.json"
            if not program.wait_for("ready", 20) or not processes.first_true(store.exists, 30):
                raise RuntimeError(f"there is no twin: {program.error_text}")
        self.twin = self.scene.run(OTHER, "twin", *words, state=state)
        scene.stack.callback(self.twin.end)
        if not self.twin.wait_for("ready", 20):
            raise RuntimeError(f"the twin doesn't start: {self.twin.error_text}")
        self.twin.process.stdin.write(b'{"note":"I am here"}\n')
        self.twin.process.stdin.flush()
        self.port = int(self.twin.named("ready")[0]["port"])
        own = next(one for one in self.scene.wait_for_announcements(3) if self.is_twins(one))
        for number in range(4):
            self.announce(f"study {number}", own.mark)
        self.count = len(self.scene.wait_for_announcements(7))

    def is_twins(self, one: Announcement) -> bool:
        return self.scene.machines.addresses[OTHER] in one.addresses

    def announce(self, instance: str, mark: str) -> None:
        """One more member of the twin, behind the same door."""
        publisher = subprocess.Popen(
            [*self.scene.machines.at(OTHER), "avahi-publish", "-s", instance, SERVICE, str(self.port), "room=study",
             f"m={os.urandom(8).hex()}", f"r={mark}"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, start_new_session=True)
        self.scene.stack.callback(processes.end, publisher)

    @contextlib.contextmanager
    def newcomer(self, name: str, *words: str, number: int = HONEST, terminal: Terminal | None = None) -> Iterator[Program]:
        """Somebody who looks for “study” and shares its screen and its captions."""
        state = self.scene.lab.state()
        captions = state / "captions.txt"
        captions.write_text(f"{name}'s secret\n")
        program = self.scene.run(
            number, name, "study", "--share", "--source", "pattern", "--size", "320x180", "--max-fps", "5", "--captions",
            str(captions), "--accept", "none", "--no-watch", *words, state=state, patient=True,
            stdin=terminal.slave if terminal else None, stderr=terminal.slave if terminal else None)
        try:
            yield program
        finally:
            program.end()
            if terminal:
                terminal.close()

    def against(self, scene: Room, row: Row, lab: Laboratory) -> str:
        told = [self.without_code(row), self.picks_the_twin(), self.with_code(row), self.sees_only_the_twin()]
        shared = self.twin.named("share-began")
        entries = [event for name in ("note", "caption", "message", "alert") for event in self.twin.named(name)
                   if not event.get("own")]
        if shared or entries or self.twin.named("first-frame"):
            row.came = "in"
        return f"{'; '.join(told)}; the twin got {len(shared)} screens and {len(entries)} captions"

    def without_code(self, row: Row) -> str:
        with self.newcomer("cleo") as program:
            rooms = program.wait_for("which-room", 40)
            program.wait(lambda: program.fate, 10)
            if not rooms or program.named("let-in"):
                row.came = "in"
            return (f"without a code it {'asked which room is meant' if rooms else 'did not ask which room is meant'} and "
                    f"{f'ended with {program.fate}' if program.fate else 'went on'}")

    def picks_the_twin(self) -> str:
        terminal = Terminal()
        with self.newcomer("dora", terminal=terminal):
            if not terminal.wait_for("Which one is it?", 40):
                raise RuntimeError(f"a person isn't asked which room: {terminal.text[-300:]!r}")
            place = f"{self.scene.machines.addresses[OTHER]}:{self.port}, "
            line = next(line for line in terminal.text.splitlines() if place in line)
            time.sleep(READING_SECONDS)
            terminal.type(f"{line.split()[0]}\n")
            if not terminal.wait_for("Is it the room that you mean?", 20):
                raise RuntimeError(f"who picks the twin's isn't asked again: {terminal.text[-300:]!r}")
            # Unanswered, and then denied.
            time.sleep(4)
            terminal.type("n\n")
            time.sleep(2)
            return "who picked the twin's was asked before anything was shared"

    def with_code(self, row: Row) -> str:
        with self.newcomer("emil", "--code", CODE) as program:
            came = self.scene.anna.wait(lambda: any(
                event["name"] == "emil" for event in self.scene.anna.named("share-began")), 60)
            if not came:
                row.came = "kept out"
                return f"with the code it didn't come into the right room: {program.last_words()!r}"
            return "with the code it shared in the right one"

    def sees_only_the_twin(self) -> str:
        self.scene.machines.daemons("stop-daemon", HONEST)
        if not processes.first_true(lambda: all(map(self.is_twins, self.scene.announcements())), 30):
            raise RuntimeError("the right room is still announced")
        with self.newcomer("fred", number=OTHER) as program:
            if not program.wait_for("ready", 40):
                raise RuntimeError(f"it doesn't enter the only room that it sees: {program.last_words()!r}")
            time.sleep(5)
            held = any(not event["on"] for event in program.named("own-share"))
            return f"where only the twin is seen it entered that and {'held its screen back' if held else 'shared'}"


class Linked(OnRoom):
    """Somebody who isn't a member records what is announced and what is told at a door, before and after midnight, and when
    the members come again on a third day.

    What is the same on two days, and isn't the same in another room on another machine, links a device to itself.
    """

    name = "equals-linked"
    # What the page FalseRooms says that it stays, as far as programs tell it. The door tells the room's name, too.
    stays = {"announced room", "announced host", "announced addresses", "door name", "certificate key"}
    # What must be another one each day, as long as the program runs, too.
    changes = {"announced tag", "announced mark"}

    def room(self, lab: Laboratory) -> Room:
        trouble = WallClock.obstacle()
        if trouble:
            raise NotPlayed(trouble)
        self.clock = WallClock(lab.state() / "clock")
        self.scene = AnnouncedRoom(lab, CODE, self.clock)
        return self.scene

    def begin(self, scene: Room, lab: Laboratory) -> None:
        """What somebody in another room tells, on another machine: what is the same there links nobody."""
        with self.scene.run(OTHER, "dora", "attic", "--code", CODE, "--accept", "none", state=lab.state()) as program:
            ready = program.wait_for("ready", 20)
            if not ready:
                raise RuntimeError(f"there is no other room: {program.error_text}")
            self.usual = self.record(self.announced(OTHER, int(ready["port"])), OTHER)

    def against(self, scene: Room, row: Row, lab: Laboratory) -> str:
        # What is told of Anna's program on each day, and which tags and marks both have announced.
        self.days: list[dict[str, str]] = []
        self.tags: list[set[str]] = []
        self.look()
        self.clock.set(DAY_SECONDS)
        processes.first_true(lambda: not self.is_known(self.members()), 10)
        self.look()
        return ""

    def members(self) -> list[Announcement]:
        return [one for one in self.scene.announcements() if self.scene.machines.addresses[HONEST] in one.addresses]

    def is_known(self, members: list[Announcement]) -> bool:
        """Whether any of these announces what was announced on a day before, or they aren't both there."""
        return len(members) != 2 or any(tags & self.tags_of(members) for tags in self.tags)

    @staticmethod
    def tags_of(members: list[Announcement]) -> set[str]:
        return {value for one in members for value in (one.tag, one.mark)}

    def announced(self, number: int, port: int) -> Announcement:
        def find() -> Announcement | None:
            return next((one for one in self.scene.announcements()
                         if one.port == port and self.scene.machines.addresses[number] in one.addresses), None)

        found = processes.first_true(find, 30)
        if not found:
            raise RuntimeError(f"port {port} isn't announced")
        return found

    def record(self, one: Announcement, number: int) -> dict[str, str]:
        fields = {
            "announced instance": one.instance.removeprefix(f"{one.room}\\032"), "announced host": one.host,
            "announced addresses": " ".join(sorted(one.addresses)), "announced port": str(one.port),
            "announced room": one.room, "announced tag": one.tag, "announced mark": one.mark,
        }
        return fields | self.scene.knock(self.scene.machines.addresses[number], one.port)

    def look(self) -> None:
        self.days.append(self.record(self.announced(HONEST, self.scene.port("anna")), HONEST))
        self.tags.append(self.tags_of(self.members()))

    def judge(self, scene: Room, row: Row, calm: Row, lab: Laboratory) -> None:
        super().judge(scene, row, calm, lab)
        self.restart()
        first, _, third = self.days
        same = {name for name, value in first.items() if third[name] == value and self.usual.get(name) != value}
        kept = {name for name in self.changes if len({day[name] for day in self.days}) < len(self.days)}
        if same != self.stays or kept or len(set().union(*self.tags)) < sum(map(len, self.tags)):
            row.came = "linked"
        row.words = (f"at midnight these changed: {self.named(self.changes - kept)}; on the third day these were the same: "
                     f"{self.named(same)}{row.words}")

    @staticmethod
    def named(fields: set[str]) -> str:
        return ", ".join(sorted(fields)) or "none"

    def restart(self) -> None:
        """On the third day both come again."""
        for name in ("ben", "anna"):
            self.scene.programs[name][0].end()
        self.clock.set(2 * DAY_SECONDS)
        for name in ("anna", "ben"):
            self.scene.start(name, "study", "--code", CODE)
        processes.first_true(lambda: not self.is_known(self.members()), 30)
        self.look()


ATTACKS = [Twin, Linked]
