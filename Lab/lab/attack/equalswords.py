"""Attacks of a member of a room of equals on what others have written, on names, and on who may come."""

import copy
import json
import struct
import time

from lab.attack import mesh, room
from lab.attack.equals import OnRoom, Room
from lab.attack.laboratory import Laboratory, Row
from lab.attack.peer import Refused
from lab.common.programs import Program

# Long enough that they come in several batches.
WORDS = "word " * 60


class Section:
    """An author's part of a batch, which the attacker changes and sends on."""

    def __init__(self, words: bytes, place: int) -> None:
        self.point = words[place:place + 65]
        self.run, self.first, has_start = struct.unpack(">QIB", words[place + 65:place + 78])
        place += 78
        self.start = words[place:place + 32] if has_start else b""
        place += 32 * has_start
        self.signature, self.end = words[place:place + 64], place + 64
        self.entries: list[bytes] = []

    def message(self, items: list[bytes]) -> bytes:
        return (bytes([room.ENTRIES, 1]) + self.point + struct.pack(">QIB", self.run, self.first, 1) + self.start
                + self.signature + struct.pack(">H", len(items)) + b"".join(items))

    def as_digests(self) -> bytes:
        return self.message([b"\0\1" + room.sha(entry) for entry in self.entries])

    def as_late(self) -> bytes:
        """Only its last entry, with the digest before that."""
        late = copy.copy(self)
        for entry in self.entries[:-1]:
            late.start, late.first = room.sha(late.start + room.sha(entry)), late.first + 1
        last = self.entries[-1]
        return late.message([b"\0\0" + struct.pack(">I", len(last)) + last])


def sections(message: bytes) -> list[Section]:
    """Of a batch."""
    place, found = 2, []
    for _ in range(message[1]):
        found.append(Section(message, place))
        place = found[-1].end
    count = struct.unpack(">H", message[place:place + 2])[0]
    place += 2
    for _ in range(count):
        section, kind = message[place], message[place + 1]
        place += 2
        if kind == 1:
            place += 32
            continue
        length = struct.unpack(">I", message[place:place + 4])[0]
        found[section].entries.append(message[place + 4:place + 4 + length])
        place += 4 + length
    return found


def texts(program: Program, since: float = 0) -> list[str]:
    return [event.get("text", "") for event in program.named("note", since)]


class Hides(OnRoom):
    """Base: the attacker has everything that Anna has written, and is the first to tell a newcomer of it."""

    count = 900

    def against(self, scene: Room, row: Row, lab: Laboratory) -> str:
        self.anna, _ = self.links
        # What one author may write at once, and what the short form takes.
        count = lab.seconds(self.count, 200)
        for number in range(int(count)):
            scene.say("anna", note=f"{number} {WORDS}")
        scene.ben.wait(lambda: len(texts(scene.ben)) >= count, 20)
        cleo, entered = scene.launch("cleo", *scene.at("ben")), None
        while cleo.fate is None and not cleo.named("ready") and not entered:
            entered = self.link_to(scene, lab)
        link = entered or mesh.Member(lab.identity("attacker"), scene.port("cleo"))
        self.links += (link,)
        scene.links.append(link)
        sent = self.tell(link)
        cleo.wait(lambda: len(texts(cleo)) >= count, 20)
        heard = [int(text.split(" ")[0]) for text in texts(cleo)]
        told = [event for event in cleo.named("history") if event.get("complete")]
        if heard != list(range(int(count))):
            row.came = "hidden"
        return (f"{sent}; the newcomer has {len(heard)} of {int(count)} notes, and is "
                f"{'told that it has everything' if told else 'not told that it has everything'}")

    @staticmethod
    def link_to(scene: Room, lab: Laboratory) -> mesh.Member | None:
        try:
            return mesh.Member(lab.identity("attacker"), scene.port("cleo"))
        except (Refused, OSError):
            time.sleep(0.01)
            return None

    def change(self, section: Section) -> bytes:
        raise NotImplementedError

    def tell(self, link: mesh.Member) -> str:
        sent = 0
        for message in self.anna.batches:
            for section in sections(message):
                if not section.start or not section.entries:
                    continue
                try:
                    link.send(self.change(section))
                    sent += 1
                except (Refused, OSError):
                    return f"it was sent away after {sent} batches"
        return f"{sent} batches were told so"


class Digests(Hides):
    """A member passes on others' words as digests, to somebody who has just come."""

    name = "equals-digests"

    def change(self, section: Section) -> bytes:
        return section.as_digests()


class LateStart(Hides):
    """A member passes on only the last entry of each batch, with the digest before it, to somebody who has just come."""

    name = "equals-late-start"

    def change(self, section: Section) -> bytes:
        return section.as_late()


class Accomplice(OnRoom):
    """A member that was put out goes on writing, in its old log and in a new one, and a member that stays passes it on."""

    name = "equals-accomplice"

    def against(self, scene: Room, row: Row, lab: Laboratory) -> str:
        first, _ = self.links
        accomplice = mesh.enter(lab.identity("accomplice"), scene.port("ben"), "accomplice")
        scene.links.append(accomplice)
        key = mesh.Key(first.key.identity, first.room)
        log = key.log().note(b"before")
        first.send(log.batch())
        scene.ben.wait(lambda: "before" in texts(scene.ben), 5)
        scene.say("anna", putOut=key.identity.device.hex())
        time.sleep(1)
        begin = time.monotonic()
        # Told as if it had been written long before, too.
        for milliseconds in (0, 1, 1 << 40):
            accomplice.send(log.note(b"after", milliseconds).batch(len(log.entries) - 1))
            accomplice.send(key.log(run=milliseconds + 7).note(b"after", milliseconds).batch())
        time.sleep(lab.seconds(5, 3))
        heard = texts(scene.anna, begin).count("after") + texts(scene.ben, begin).count("after")
        if heard:
            row.came = "heard"
        return f"{heard} of 6 notes were heard"


class Names(OnRoom):
    """A member calls itself like Ben, in its status too, and writes a caption that claims Ben as the speaker."""

    name = "equals-names"

    def against(self, scene: Room, row: Row, lab: Laboratory) -> str:
        anna, _ = self.links
        anna.send(mesh.message(mesh.STATUSES, [anna.key.status([], [], b"b\xd0\xb5n")]))
        time.sleep(1)
        log = anna.key.log().note(b"trust me")
        log.add(room.entry(room.CAPTION, struct.pack(">H", 3) + b"ben" + b"trust me, too"))
        anna.send(log.batch())
        time.sleep(2)
        notes = [event for event in scene.anna.named("note") if event.get("text") == "trust me"]
        words = scene.anna.error_text
        ben = scene.ben.named("ready")[0]["key"]
        if not notes:
            row.came = "not played"
        # Letters that look alike are one name: both have the digits of their keys.
        people = {person["key"]: person["name"] for person in scene.anna.named("people")[-1]["people"]}
        if any(event["name"] in ("ben", "b\u0435n") for event in notes) or "(" not in people[ben]:
            row.came = "believed"
        captions = [event for event in scene.anna.named("caption") if "too" in event.get("text", "")]
        if any(event["name"] in ("ben", "b\u0435n") for event in captions) or "\nben: trust me" in words:
            row.came = "believed"
        return f"its note is by {notes[0]['name'] if notes else 'nobody'}, Ben is {people[ben]}"


class Replay(OnRoom):
    """A member passes on what another one has signed in a host's log, of the same ID, as its words among equals."""

    name = "equals-replay"

    def against(self, scene: Room, row: Row, lab: Laboratory) -> str:
        anna, _ = self.links
        victim = mesh.enter(lab.identity("victim"), scene.port("ben"), "victim")
        scene.links.append(victim)
        # With the labels of a host's log, whose keeper is the attacker; and with those of another room of equals.
        for scope in ("host", "room"):
            log = victim.key.log(run=7)
            if scope == "host":
                log.label = b" of a host\0" + anna.room + anna.key.identity.device
            else:
                log.label = b" of equals\0" + bytes(16)
            log.digests = [room.sha(b"BeamRoom 2 log" + log.label + log.name)]
            try:
                anna.send(log.note(b"elsewhere").batch())
            except (Refused, OSError):
                break
            time.sleep(1)
        heard = texts(scene.anna).count("elsewhere") + texts(scene.ben).count("elsewhere")
        if heard:
            row.came = "believed"
        blamed = [event for event in scene.anna.named("violated")
                  if event["from"] == victim.key.identity.device.hex()]
        if blamed:
            row.came = "blamed"
        return f"{heard} of 2 were believed"


class Ban(OnRoom):
    """A member lets in the key of somebody who isn't here, puts it out, and names stays that it may get."""

    name = "equals-ban"

    def against(self, scene: Room, row: Row, lab: Laboratory) -> str:
        anna, _ = self.links
        stay = anna.stay(anna.key.author.point)
        state = lab.state()
        cleo = scene.launch("cleo", *scene.at("ben"), state=state)
        if not cleo.wait_for("ready", 20):
            row.came = "not played"
            return "nobody came"
        cleo.end()
        # Its public key is in what has let it in.
        point = anna.newest_point()
        for number in range(20):
            admission = anna.key.admitted(stay, point, b"nobody %d" % number)
            anna.send(mesh.message(mesh.STATEMENTS, [admission]))
            stays = [anna.key.admission_id(stay, point, b"nobody %d" % number), *mesh.random_stays(3)]
            anna.send(mesh.message(mesh.STATEMENTS, [anna.key.put_out(stay, stays)]))
        time.sleep(1)
        again = scene.launch("cleo", *scene.at("ben"), state=state)
        came = again.wait_for("ready", 20)
        if not came:
            row.came = "kept out"
        return f"it {'came in' if came else 'was kept out: ' + json.dumps(again.error_text[-200:])}"


ATTACKS = [Digests, LateStart, Accomplice, Names, Replay, Ban]
