"""Attacks of a member on a room of equals: two honest members, one of whom shares its screen, and who write notes."""

import contextlib
import json
import pathlib
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from typing import Any, Self

from lab.attack import mesh, room
from lab.attack.laboratory import Attack, Laboratory, Row, pictures_into
from lab.attack.peer import Refused
from lab.attack.wire import Identity
from lab.common.programs import Event, Program, free_port

# Share of a core that a member may cost another machine.
MOST_MEMBER = 0.10


class Room:
    """Anna, who has made the room and shares, and Ben, who watches. Both let in everybody."""

    def __init__(self, lab: Laboratory) -> None:
        self.lab = lab
        self.stack = contextlib.ExitStack()
        self.links: list[mesh.Member] = []
        self.programs: dict[str, tuple[Program, int]] = {}

    def __enter__(self) -> Self:
        try:
            self.begin()
        except BaseException:
            self.__exit__()
            raise
        time.sleep(1)
        return self

    def begin(self) -> None:
        self.anna = self.start("anna", "study", *self.sharing)
        self.ben = self.start("ben", *self.at("anna"))
        if not self.ben.wait_for("first-frame", 20):
            raise RuntimeError(f"Ben sees nothing: {self.anna.error_text} {self.ben.error_text}")

    @property
    def sharing(self) -> list[str]:
        return ["--share", "--source", "pattern", "--size", self.lab.size]

    def __exit__(self, *_: object) -> None:
        for link in self.links:
            link.close()
        for program, _port in self.programs.values():
            program.end()
        self.stack.close()

    def port(self, name: str) -> int:
        return self.programs[name][1]

    def at(self, name: str) -> tuple[str, str]:
        """How to enter through that member."""
        return "--at", f"{self.address(name)}:{self.port(name)}"

    def address(self, name: str) -> str:
        return "127.0.0.1"

    def where(self, name: str) -> list[str]:
        """What the command of that member's program begins with."""
        return []

    def command(self, name: str, *words: str) -> list[str]:
        return [*self.where(name), self.lab.program, "room", *words, "--json", "--no-window", "--name", name, "--audio", "off",
                "--time-limit", "300"]

    def launch(self, name: str, *words: str, state: pathlib.Path | None = None) -> Program:
        # Who comes again is found where it was.
        port = self.port(name) if name in self.programs else free_port()
        program = Program(
            [*self.command(name, *words), "--no-discovery", "--bind", self.address(name), "--port", str(port),
             "--media-port", str(free_port()), "--accept", "all"], state or self.lab.state(), stdin=subprocess.PIPE)
        self.programs[name] = (program, port)
        return program

    def start(self, name: str, *words: str, **how: Any) -> Program:
        program = self.launch(name, *words, **how)
        if not program.wait_for("ready", 20):
            raise RuntimeError(f"{name} doesn't start: {program.error_text}")
        return program

    def say(self, name: str, **line: object) -> None:
        program = self.programs[name][0]
        program.process.stdin.write(json.dumps(line).encode() + b"\n")
        program.process.stdin.flush()

    def enter(self, identity: str) -> tuple[mesh.Member, mesh.Member]:
        """The attacker's links to Anna and to Ben."""
        anna = mesh.enter(self.lab.identity(identity), self.port("anna"))
        self.links.append(anna)
        time.sleep(0.3)
        ben = mesh.Member(self.lab.identity(identity), self.port("ben"))
        self.links.append(ben)
        return anna, ben

    @contextlib.contextmanager
    def attack(self, row: Row) -> Iterator[None]:
        """The row gets what Ben sees in this block, and what it costs the two."""
        begin, before = time.monotonic(), (self.anna.processor(), self.ben.processor())
        yield
        end = time.monotonic()
        row.host_processor = (self.anna.processor() - before[0]) / (end - begin)
        row.viewer_processor = (self.ben.processor() - before[1]) / (end - begin)
        self.ben.wait(lambda: any(event["at"] >= end for event in self.pictures(begin)), 1.5)
        pictures_into(row, self, begin, end)
        row.host_megabytes, row.viewer_megabytes = self.anna.peak, self.ben.peak

    # For `pictures_into`: the figures of the picture, not of the room.

    @property
    def fate(self) -> str | None:
        return self.ben.fate

    def named(self, name: str, since: float = 0) -> list[Event]:
        return self.pictures(since)

    def pictures(self, since: float = 0) -> list[Event]:
        anna = self.anna.named("ready")[0]["key"]
        return [event for event in self.ben.named("stats", since) if event.get("from") == anna]


class OnRoom(Attack):
    """Base of the attacks on a room."""

    def play(self, lab: Laboratory, row: Row) -> None:
        calm = Row("calm", "")
        with self.room(lab) as scene:
            with scene.attack(calm):
                time.sleep(lab.seconds(3, 1))
            self.begin(scene, lab)
            with scene.attack(row):
                row.words = self.against(scene, row, lab)
            self.judge(scene, row, calm, lab)

    def room(self, lab: Laboratory) -> Room:
        return Room(lab)

    def begin(self, scene: Room, lab: Laboratory) -> None:
        """The attacker gets where it attacks from."""
        self.links: tuple[mesh.Member, ...] = scene.enter("attacker")

    def against(self, scene: Room, row: Row, lab: Laboratory) -> str:
        raise NotImplementedError

    def judge(self, scene: Room, row: Row, calm: Row, lab: Laboratory) -> None:
        """Each still hears the other one, and neither blames it."""
        for name, other in (("anna", scene.ben), ("ben", scene.anna)):
            program = scene.programs[name][0]
            if program.fate:
                row.came = "down"
                row.words += f"; {name} ended with {program.fate}: {program.error_text[-300:]!r}"
                return
            scene.say(name, note=f"still here, {name}")
            if not other.wait(lambda: any(e.get("text") == f"still here, {name}" for e in other.named("note")), 8):
                row.came = "silenced"
        keys = {scene.anna.named("ready")[0]["key"], scene.ben.named("ready")[0]["key"]}
        for program in (scene.anna, scene.ben):
            if any(event["from"] in keys for event in program.named("violated")):
                row.came = "blamed"
        cost = max(row.host_processor - calm.host_processor, row.viewer_processor - calm.viewer_processor)
        row.words += f"; it cost them {cost:.0%} of a core at most"
        # The short form is for programs that weren't optimised.
        if row.came == "nothing" and not lab.short and cost > MOST_MEMBER:
            row.came = "costs too much"


class Fork(OnRoom):
    """A member signs two different first entries, one for each of two others, and goes on for one of them."""

    name = "equals-fork"

    def against(self, scene: Room, row: Row, lab: Laboratory) -> str:
        anna, ben = self.links
        left = anna.key.log().note(b"to Anna")
        right = mesh.Log(left.identity, anna.room, left.author.run).note(b"to Ben")
        anna.send(left.batch())
        ben.send(right.batch())
        time.sleep(1)
        anna.send(left.note(b"and more").batch(1))
        time.sleep(lab.seconds(6, 3))
        found = [name for name in ("anna", "ben") if scene.programs[name][0].named("forked")]
        return f"{' and '.join(found) or 'nobody'} found it out"


class Crowd(OnRoom):
    """A member lets in 188 keys and says 40 put-outs of stays that nobody has had; then it is put out, and another one
    comes.
    """

    name = "equals-crowd"

    @staticmethod
    def is_out(program: Program, identity: Identity) -> bool:
        people = program.named("people")
        return bool(people) and all(person["key"] != identity.device.hex() for person in people[-1]["people"])

    def against(self, scene: Room, row: Row, lab: Laboratory) -> str:
        anna, _ = self.links
        stay = anna.stay(anna.key.author.point)
        admissions = [anna.key.admitted(stay, mesh.fresh_point(), b"ghost %d" % number) for number in range(188)]
        put_outs = [anna.key.put_out(stay, mesh.random_stays(8)) for _ in range(40)]
        for part in range(0, 188, 20):
            anna.send(mesh.message(mesh.STATEMENTS, admissions[part:part + 20]))
        for part in range(0, 40, 20):
            anna.send(mesh.message(mesh.STATEMENTS, put_outs[part:part + 20]))
        time.sleep(2)
        scene.say("anna", putOut=anna.key.identity.device.hex())
        out = scene.ben.wait(lambda: self.is_out(scene.ben, anna.key.identity), 5)
        try:
            scene.start("cleo", *scene.at("ben"))
            came = True
        except RuntimeError:
            came = False
        if not out or not came:
            row.came = "kept out"
        return f"it was {'put out' if out else 'there still'}, and a newcomer {'came in' if came else 'was kept out'}"


class ThirdParty(OnRoom):
    """A member tells ever new addresses, and those of keys that it has let in, all of them of one other machine."""

    name = "equals-third-party"

    def against(self, scene: Room, row: Row, lab: Laboratory) -> str:
        count = [0]
        with socket.create_server(("127.9.9.9", 0)) as third:
            def take() -> None:
                while True:
                    try:
                        third.accept()[0].close()
                    except OSError:
                        return
                    count[0] += 1
            threading.Thread(target=take, daemon=True).start()
            port, seconds = third.getsockname()[1], lab.seconds(12, 4)
            keys = [mesh.Key(lab.identity(f"ghost-{number}"), self.links[0].room) for number in range(6)]
            stay = self.links[0].stay(self.links[0].key.author.point)
            own = self.links[0].key
            self.links[0].send(mesh.message(
                mesh.STATEMENTS, [own.admitted(stay, key.author.point, b"ghost") for key in keys]))
            end = time.monotonic() + seconds
            while time.monotonic() < end:
                statuses = [key.status([own.identity.device], [("127.9.9.9", port), ("127.9.9.9", 1 + count[0] % 999)])
                            for key in keys]
                for link in self.links:
                    with contextlib.suppress(Refused):
                        link.send(mesh.message(mesh.STATUSES, statuses))
                time.sleep(0.1)
            # What is dialled at once counts little in the long run.
            if count[0] > 2 * seconds + (16 if lab.short else 0):
                row.came = "aimed"
        return f"{count[0]} connections to the other machine in {seconds:.0f} s"


class Messages(OnRoom):
    """A member sends each other one some thousand messages a second: statuses, statements that don't count, signs of life."""

    name = "equals-messages"

    def against(self, scene: Room, row: Row, lab: Laboratory) -> str:
        sent, end = 0, time.monotonic() + lab.seconds(12, 4)
        useless = [self.links[0].key.statement(5, mesh.random_stays(1)[0], mesh.fresh_point() + b"\1x")] * 20
        for link in self.links:
            link.peer.socket.settimeout(0.2)
        while time.monotonic() < end:
            for link in self.links:
                words = [mesh.message(mesh.STATUSES, [link.key.status() for _ in range(4)]),
                         mesh.message(mesh.STATEMENTS, useless), bytes([mesh.ALIVE])] + [bytes([mesh.ALIVE])] * 20
                with contextlib.suppress(Refused):
                    for one in words:
                        link.send(one)
                        sent += 1
        return f"{sent} messages were taken"


class OwnKeys(OnRoom):
    """A member writes without end under three keys that it has let in, whose entries it brings itself."""

    name = "equals-own-keys"

    def against(self, scene: Room, row: Row, lab: Laboratory) -> str:
        anna, _ = self.links
        keys = [mesh.Key(lab.identity(f"second-{number}"), anna.room) for number in range(3)]
        stay = anna.stay(anna.key.author.point)
        anna.send(mesh.message(mesh.STATEMENTS, [anna.key.admitted(stay, k.author.point, b"second") for k in keys]))
        time.sleep(0.3)
        seconds = lab.seconds(12, 4)
        begin, sent = time.monotonic(), 0
        logs = [key.log() for key in keys]
        while time.monotonic() < begin + seconds:
            for log in logs:
                start = len(log.entries)
                for number in range(90):
                    log.note(b"spam %d" % number)
                with contextlib.suppress(Refused):
                    anna.send(log.batch(start))
                    sent += 90
            time.sleep(0.01)
        heard = sum("spam" in event.get("text", "") for event in scene.ben.named("note"))
        # Three devices, each with its burst and its 200 a second.
        if heard > 3 * (13_000 + 200 * seconds):
            row.came = "floods the room"
        return f"{sent} entries sent, {heard} of them reached Ben in {seconds:.0f} s"


class Misdirected(OnRoom):
    """A member sends a message in plain text that names another one as its recipient."""

    name = "equals-misdirected"

    def against(self, scene: Room, row: Row, lab: Laboratory) -> str:
        anna, _ = self.links
        recipient = bytes.fromhex(scene.ben.named("ready")[0]["key"])
        body = b"\0\5stray" + b"1"
        anna.send(anna.key.log().add(bytes([room.MESSAGE]) + bytes(8) + b"\1" + recipient + body).batch())
        time.sleep(2)
        got = scene.anna.named("message")
        if got:
            row.came = "believed"
        return f"the program of the one that passed it on was {'given it, too' if got else 'not given it'}"


ATTACKS = [Fork, Crowd, ThirdParty, Messages, OwnKeys, Misdirected]
