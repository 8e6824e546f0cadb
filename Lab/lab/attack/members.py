"""Attacks on the room: captions, notes and messages, by a viewer that was admitted, and by a host."""

import random
import struct
import time

from lab.attack import h264, room, wire
from lab.attack.falsehost import Connection, FalseHost
from lab.attack.laboratory import Attack, Laboratory, Row, Scene
from lab.attack.peer import Peer, Refused
from lab.attack.values import MOST_PROCESSOR, AttackOnViewer

# Share of a core that a member may cost its host.
MOST_MEMBER = 0.25


def enter(peer: Peer, name: str | bytes = "attacker", run: int | None = None) -> room.Author:
    """Joins, and greets the room as somebody who has nothing of it; returns the member's own log."""
    peer.join(name, features=room.FEATURE)
    message = peer.wait_for(room.GREETING)
    if message is None:
        raise Refused("no room")
    theirs = room.Greeting.read(message)
    author = room.Author(peer.identity, theirs.room, peer.host_device, run)
    peer.send(room.greeting(theirs.room, author.run))
    return author


class Member(Attack):
    """Base of the attacks of an admitted viewer on the room; an honest viewer is in the room, too."""

    def judge(self, scene: Scene, row: Row, shown: object) -> None:
        """The honest viewer must have none of what the attacker mustn't write, and the host must have time left."""
        if scene.host.fate or scene.viewer.fate:
            return
        if shown:
            row.came = "believed"
        # The short form is for programs that weren't optimised: their cost says nothing.
        elif (not scene.lab.short and row.host_processor is not None
              and row.host_processor > self.calm + MOST_MEMBER):
            row.came = "costs too much"
        row.words += f"; {row.host_processor:.0%} of a core at the host, {self.calm:.0%} before"

    def rest(self, scene: Scene) -> None:
        """The host's share of a core before the attack."""
        begin, used = time.monotonic(), scene.host.processor()
        time.sleep(1)
        self.calm = (scene.host.processor() - used) / (time.monotonic() - begin)


class FloodOfNotes(Member):
    """An admitted viewer writes notes without waiting for acknowledgements, and returns when it is sent away."""

    name = "room-notes-flood"
    short = True

    def play(self, lab: Laboratory, row: Row) -> None:
        written = connections = 0
        with lab.scene() as scene:
            self.rest(scene)
            with scene.attack(row):
                end = time.monotonic() + lab.seconds(10, 4)
                while time.monotonic() < end:
                    try:
                        # Each time as another device, because one that was sent away is kept out for a minute.
                        with scene.peer(identity=f"flood-{connections}") as peer:
                            author = enter(peer)
                            connections += 1
                            while time.monotonic() < end:
                                peer.send(author.batch([room.entry(room.NOTE, b"spam %d" % number)
                                                        for number in range(90)]))
                                written += 90
                                peer.read(0.011)
                    except (Refused, OSError):
                        time.sleep(0.1)
            lines = [line for line in scene.host.error_text.splitlines() if "spam" in line]
            seconds = lab.seconds(10, 4)
            row.words = (f"{written} notes in {connections} connections; {len(scene.viewer.named('note'))} reached the "
                         f"honest viewer, {len(lines)} lines at the host's terminal")
            self.judge(scene, row, False)
            if len(lines) > 2 * seconds + 10:
                row.came = "floods the person"
            # Each device may write 1,000 at once, 200 a second, and a window of 1,100 before it is sent away.
            if len(scene.viewer.named("note")) > connections * (1000 + 1100) + 200 * (seconds + 6):
                row.came = "floods the room"


class OthersNames(Member):
    """An admitted viewer sends entries in the names of others: of the honest viewer, the host, a device that nobody knows,
    and captions and alerts in its own.
    """

    name = "room-others-names"
    short = True

    def play(self, lab: Laboratory, row: Row) -> None:
        refused = 0
        with lab.scene() as scene:
            self.rest(scene)
            stranger = lab.identity("stranger")
            with scene.attack(row):
                for attempt in range(4):
                    try:
                        # Each from another device, because those that were sent away are kept out for a minute.
                        with scene.peer(identity=f"liar-{attempt}") as peer:
                            author = enter(peer)
                            forged = room.Author(stranger, author.room, author.keeper, author.run)
                            lie = room.entry(room.NOTE, b"I never said this")
                            if attempt == 0:
                                peer.send(author.batch([lie], forged.point))
                            elif attempt == 1:
                                peer.send(forged.batch([lie]))
                            elif attempt == 2:
                                peer.send(forged.batch([lie], author.point))
                            else:
                                peer.send(author.batch([room.caption(b"I never said this"),
                                                        room.entry(room.ALERT, b"\1\0"),
                                                        room.entry(room.MEMBER, author.point[:32] + b"the host")]))
                            peer.wait_for(0xFF, timeout=1)
                    except Refused:
                        refused += 1
            heard = [event for name in ("caption", "note", "alert") for event in scene.viewer.named(name)
                     if event.get("text") == "I never said this" or event.get("what") == "paused"]
            row.words = f"{refused} of 3 lies ended the connection; the honest viewer saw {len(heard)} of them"
            self.judge(scene, row, heard)
            if refused != 3:
                row.came = "taken"


class Garbage(Member):
    """An admitted viewer sends 10 MiB of garbage as messages of the room, in ever new connections, four a second."""

    name = "room-garbage"
    short = True

    def play(self, lab: Laboratory, row: Row) -> None:
        generator = random.Random(15)
        sent = connections = 0
        with lab.scene() as scene:
            self.rest(scene)
            with scene.attack(row):
                end = time.monotonic() + lab.seconds(15, 6)
                while sent < 10 << 20 and time.monotonic() < end:
                    try:
                        # An invalid message sends a device away for a minute.
                        with scene.peer(identity=f"garbage-{connections}") as peer:
                            author = enter(peer)
                            connections += 1
                            while sent < 10 << 20:
                                kind = generator.choice([room.ENTRIES, room.PARTIAL, room.RECEIPTS, room.GREETING])
                                message = bytes([kind]) + generator.randbytes(90_000)
                                if generator.random() < 0.3:
                                    # It begins as a batch does.
                                    message = author.batch([room.entry(room.NOTE, b"x")])[:150] + message[150:]
                                peer.send(message)
                                sent += len(message)
                                # 2 MiB a second: more would measure TLS.
                                peer.read(0.04)
                    except (Refused, OSError):
                        # What a connection costs is another row's.
                        time.sleep(0.25)
            row.words = f"{sent >> 20} MiB in {connections} connections"
            self.judge(scene, row, scene.viewer.named("note"))


class NeverConfirms(Member):
    """An admitted viewer pings, but confirms nothing of what it is sent."""

    name = "room-never-confirms"

    def play(self, lab: Laboratory, row: Row) -> None:
        with lab.scene() as scene:
            self.rest(scene)
            with scene.attack(row), scene.peer() as peer:
                enter(peer)
                begin, gone = time.monotonic(), None
                while gone is None and time.monotonic() < begin + 45:
                    try:
                        peer.send(bytes([wire.PING]) + struct.pack(">Q", 1))
                        time.sleep(0.5)
                        while peer.read(0.01):
                            pass
                    except Refused:
                        gone = time.monotonic() - begin
            row.words = "it is still there" if gone is None else f"it was sent away after {gone:.0f} s"
            self.judge(scene, row, False)
            if gone is None:
                row.came = "taken"


class FloodOfCaptions(AttackOnViewer):
    """A host sends captions and partial captions as fast as a viewer takes messages, each of 15 KB."""

    name = "room-captions-flood"
    short = True

    def play(self, lab: Laboratory, row: Row) -> None:
        frames = h264.small()
        sent = [0]

        def body(host: FalseHost, connection: Connection) -> None:
            host.features = room.FEATURE
            host.greet(connection)
            host.admit(connection)
            author = room.Author(host.identity, b"R" * 16, host.identity.device)
            connection.send(room.greeting(author.room, author.run))
            begin = time.monotonic()
            number = 0
            while not host.is_over.is_set():
                host.answer(connection, 0)
                while number < 80 * (time.monotonic() - begin):
                    number += 1
                    text = b"caption %d " % number * 1000
                    connection.send(author.partial(number, text[:15000]) if number % 2 else
                                    author.batch([room.caption(text[:15000])]))
                    sent[0] += 1
                host.show(number + 1, frames[number % len(frames)])
                time.sleep(0.01)

        _, host = self.against(lab, row, body, seconds=lab.seconds(15, 6))
        row.words = (row.words or "the viewer lives") + (
            f"; {sent[0]} captions in {host.connections} connections, {row.viewer_processor:.0%} of a core")
        if row.came == "nothing" and not lab.short and row.viewer_processor > 2 * MOST_PROCESSOR:
            row.came = "costs too much"


class ChangedEntries(AttackOnViewer):
    """A host passes on a viewer's entries with other words, and captions with signatures of somebody else."""

    name = "room-changed-entries"
    short = True

    def play(self, lab: Laboratory, row: Row) -> None:
        frames = h264.small()
        author = lab.identity("author")

        def body(host: FalseHost, connection: Connection) -> None:
            host.features = room.FEATURE
            host.greet(connection)
            host.admit(connection)
            theirs = room.Author(author, b"R" * 16, host.identity.device)
            connection.send(room.greeting(theirs.room, 1))
            host.show(1, frames[0])
            honest = theirs.batch([room.entry(room.NOTE, b"I agree to this")])
            connection.send(honest.replace(b"I agree to this", b"I resign, for it"))
            while not host.is_over.is_set():
                host.answer(connection, 0.1)

        viewer, host = self.against(lab, row, body, seconds=lab.seconds(8, 4))
        notes = viewer.named("note")
        row.words = (row.words or "the viewer lives") + (
            f"; it showed {len(notes)} changed notes and ended {host.connections - 1} connections")
        if notes:
            row.came = "believed"


ATTACKS = [FloodOfNotes, OthersNames, Garbage, NeverConfirms, FloodOfCaptions, ChangedEntries]
