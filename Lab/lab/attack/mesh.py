"""A member of a room of equals (page WireVersion2, "A room of equals"), as far as an attacker needs it."""

from __future__ import annotations

import os
import struct
import threading
import time
from collections.abc import Sequence
from typing import Self

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from lab.attack import room
from lab.attack.peer import Peer, Refused
from lab.attack.wire import Identity

GREETING, STATEMENTS, STATUSES, ALIVE, HELD, FORKED, PAUSED = 0x47, 0x49, 0x4A, 0x4B, 0x51, 0x52, 0x56
# The feature bit of devices that can enter such a room.
FEATURE = 512
FOUNDER = bytes(16)


def signed_fields(author: room.Author, label: bytes, room_id: bytes, fields: bytes) -> bytes:
    signature = author.sign(label + b"\0" + room_id + author.point + fields)
    return author.point + signature + struct.pack(">H", len(fields)) + fields


def message(kind: int, items: Sequence[bytes]) -> bytes:
    return bytes([kind, len(items)]) + b"".join(items)


def statement_id(room_id: bytes, author: bytes, fields: bytes) -> bytes:
    return room.sha(b"BeamRoom 2 member, second form\0" + room_id + author + fields)[:16]


def read_statements(words: bytes, place: int) -> list[tuple[bytes, bytes]]:
    """The authors and fields of a message's statements."""
    count, found = words[place], []
    place += 1
    for _ in range(count):
        author, length = words[place:place + 65], struct.unpack(">H", words[place + 129:place + 131])[0]
        found.append((author, words[place + 131:place + 131 + length]))
        place += 131 + length
    return found


class Key:
    """A device's key: its own log, statements and statuses in one room."""

    def __init__(self, identity: Identity, room_id: bytes) -> None:
        self.identity, self.room = identity, room_id
        self.author = room.Author(identity, room_id, identity.device)
        self.counter = 1 << 41

    def log(self, run: int | None = None) -> Log:
        return Log(self.identity, self.room, run)

    def statement(self, kind: int, stay: bytes, body: bytes, milliseconds: int = 1) -> bytes:
        return signed_fields(self.author, b"BeamRoom 2 member, second form", self.room,
                             bytes([kind]) + stay + struct.pack(">Q", milliseconds) + body)

    def admitted(self, stay: bytes, point: bytes, name: bytes, milliseconds: int = 1) -> bytes:
        return self.statement(5, stay, point + bytes([len(name)]) + name, milliseconds)

    def admission_id(self, stay: bytes, point: bytes, name: bytes, milliseconds: int = 1) -> bytes:
        fields = b"\5" + stay + struct.pack(">Q", milliseconds) + point + bytes([len(name)]) + name
        return statement_id(self.room, self.author.point, fields)

    def put_out(self, stay: bytes, stays: Sequence[bytes]) -> bytes:
        return self.statement(6, stay, bytes([len(stays)]) + b"".join(one + b"\0" for one in stays))

    def status(self, links: Sequence[bytes] = (), addresses: Sequence[tuple[str, int]] = (), name: bytes = b"") -> bytes:
        self.counter += 1
        fields = struct.pack(">QQB", self.author.run, self.counter, 0) + self.author.point + bytes([len(addresses)])
        for address, port in addresses:
            fields += b"\4" + bytes(int(part) for part in address.split(".")) + struct.pack(">H", port)
        fields += bytes([len(links)]) + b"".join(links) + b"\0" + bytes([len(name)]) + name
        return signed_fields(self.author, b"BeamRoom 2 status", self.room, fields)


class Log:
    """A log among equals, of which a copy goes on as another branch."""

    def __init__(self, identity: Identity, room_id: bytes, run: int | None = None) -> None:
        self.identity, self.label = identity, b" of equals\0" + room_id
        # The keeper is a host's log's only, and of no meaning here.
        self.author = room.Author(identity, room_id, identity.device, run)
        self.name = identity.device + struct.pack(">Q", self.author.run)
        self.digests = [room.sha(b"BeamRoom 2 log" + self.label + self.name)]
        self.entries: list[bytes] = []

    def copy(self) -> Log:
        other = Log(self.identity, self.label[11:], self.author.run)
        other.digests, other.entries = list(self.digests), list(self.entries)
        return other

    def note(self, text: bytes, milliseconds: int = 0) -> Self:
        self.add(room.entry(room.NOTE, text, milliseconds))
        return self

    def add(self, content: bytes) -> Self:
        self.entries.append(content)
        self.digests.append(room.sha(self.digests[-1] + room.sha(content)))
        return self

    def batch(self, start: int = 0, end: int | None = None) -> bytes:
        end = len(self.entries) if end is None else end
        signed = b"BeamRoom 2 entry" + self.label + self.name + self.digests[end] + struct.pack(">I", end)
        items = b"".join(b"\0\0" + struct.pack(">I", len(entry)) + entry for entry in self.entries[start:end])
        return (bytes([room.ENTRIES, 1]) + self.author.point + struct.pack(">QIB", self.author.run, start + 1, 1)
                + self.digests[start] + self.author.sign(signed) + struct.pack(">H", end - start) + items)


class Member:
    """A link to one member, which greets, gives signs of life and acknowledges by itself."""

    def __init__(self, identity: Identity, port: int, address: str = "127.0.0.1") -> None:
        self.peer = Peer(address, port, identity, protocol="beamroom-room/2")
        self.lock, self.is_over = threading.Lock(), threading.Event()
        self.trouble: Exception | None = None
        # What was heard: batches of entries, and statements.
        self.batches: list[bytes] = []
        self.told: list[bytes] = []
        greeting = self.peer.wait_for(GREETING, PAUSED)
        if greeting is None or greeting[0] == PAUSED:
            raise Refused("no greeting")
        self.room = greeting[1:17]
        count = struct.unpack(">H", greeting[45:47])[0]
        self.statements = greeting[47 + 56 * count:]
        self.key = Key(identity, self.room)
        self.send(bytes([GREETING]) + self.room + struct.pack(">IQQQH", 0, 1000, self.key.author.run, 0, 0)
                  + self.statements)
        self.thread = threading.Thread(target=self._answer, daemon=True)
        self.thread.start()

    def stay(self, point: bytes) -> bytes:
        """Of the device with that public key: the ID of the statement that has let it in."""
        for author, fields in read_statements(self.statements, 0):
            if fields[0] == 5 and fields[25:90] == point:
                return statement_id(self.room, author, fields)
        return FOUNDER

    def newest_point(self) -> bytes:
        """The public key that was let in last since this link began."""
        for message in reversed(self.told):
            for _, fields in reversed(read_statements(message, 1)):
                if fields[0] == 5:
                    return fields[25:90]
        raise Refused("nobody was let in")

    def send(self, words: bytes) -> None:
        with self.lock:
            self.peer.send(words)

    def _answer(self) -> None:
        alive, came = 0.0, 0
        try:
            while not self.is_over.is_set():
                if time.monotonic() > alive:
                    alive = time.monotonic() + 0.7
                    self.send(bytes([ALIVE]))
                got = self.peer.read(0.1)
                if got and got[0] == room.ENTRIES:
                    came += 1
                    self.batches.append(got)
                    self.send(struct.pack(">BI", room.ACKNOWLEDGED, came))
                if got and got[0] == STATEMENTS:
                    self.told.append(got)
        except (Refused, OSError) as error:
            self.trouble = error

    def close(self) -> None:
        self.is_over.set()
        self.thread.join(2)
        self.peer.close()


def enter(identity: Identity, port: int, name: str = "attacker") -> Member:
    """Is let in by a member that lets in everybody; returns the link to it."""
    with Peer("127.0.0.1", port, identity) as peer:
        peer.join(name, features=FEATURE)
    time.sleep(0.2)
    return Member(identity, port)


def fresh_point() -> bytes:
    """A public key that nobody has used."""
    return ec.generate_private_key(ec.SECP256R1()).public_key().public_bytes(
        serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint)


def random_stays(count: int) -> list[bytes]:
    return [os.urandom(16) for _ in range(count)]
