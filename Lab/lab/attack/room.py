"""The room's messages (page WireVersion2, "The room"), as far as an attacker needs them."""

import dataclasses
import hashlib
import os
import struct
from collections.abc import Sequence
from typing import Self

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, utils

from lab.attack.wire import Identity

GREETING, ENTRIES, ACKNOWLEDGED, PARTIAL, RECEIPTS, SLOWED = 0x40, 0x41, 0x42, 0x43, 0x44, 0x45
CAPTION, NOTE, ALERT, MESSAGE, MEMBER = 1, 2, 3, 4, 7
# The feature bit, of viewers and hosts.
FEATURE = 1024


def sha(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()


@dataclasses.dataclass
class Greeting:
    room: bytes
    run: int
    has: dict

    @classmethod
    def read(cls, message: bytes) -> Self:
        room, _, run, _, _, _, count = struct.unpack(">16sQQBQIH", message[1:48])
        has = {}
        for place in range(count):
            device, author_run, number = struct.unpack(">32sQI", message[48 + 44 * place:92 + 44 * place])
            has[(device, author_run)] = number
        return cls(room, run, has)


def greeting(room: bytes, run: int, has: Sequence[tuple[tuple[bytes, int], int]] = ()) -> bytes:
    entries = b"".join(device + struct.pack(">QI", author_run, number) for (device, author_run), number in has)
    return bytes([GREETING]) + struct.pack(">16sQQBQIH", room, 0, run, 1, 0, 0, len(has)) + entries


def entry(kind: int, body: bytes, milliseconds: int = 0) -> bytes:
    return struct.pack(">BQB", kind, milliseconds, 0) + body


def caption(text: bytes) -> bytes:
    return entry(CAPTION, struct.pack(">H", 0) + text)


class Author:
    """Writes a log of its own."""

    def __init__(self, identity: Identity, room: bytes, keeper: bytes, run: int | None = None) -> None:
        """`keeper`: the device key of the host whose log it is."""
        self.key, self.room, self.keeper, self.device = identity.key, room, keeper, identity.device
        self.run = int.from_bytes(os.urandom(8), "big") if run is None else run
        self.point = self.key.public_key().public_bytes(serialization.Encoding.X962,
                                                        serialization.PublicFormat.UncompressedPoint)
        self.number = 0
        self.digest = sha(self.label("log") + self.device + struct.pack(">Q", self.run))

    def label(self, what: str) -> bytes:
        return b"BeamRoom 2 " + what.encode() + b" of a host\0" + self.room + self.keeper

    def sign(self, data: bytes) -> bytes:
        r, s = utils.decode_dss_signature(self.key.sign(data, ec.ECDSA(hashes.SHA256())))
        return r.to_bytes(32, "big") + s.to_bytes(32, "big")

    def batch(self, entries: list[bytes], point: bytes | None = None) -> bytes:
        """The next entries, in one message; `point`: the public key that it claims."""
        first = self.number + 1
        items = b""
        for content in entries:
            self.digest = sha(self.digest + sha(content))
            self.number += 1
            items += b"\0\0" + struct.pack(">I", len(content)) + content
        signature = self.sign(self.label("entry") + self.device + struct.pack(">Q", self.run) + self.digest
                              + struct.pack(">I", self.number))
        return (bytes([ENTRIES, 1]) + (point or self.point) + struct.pack(">QIB", self.run, first, 0) + signature
                + struct.pack(">H", len(entries)) + items)

    def partial(self, counter: int, text: bytes) -> bytes:
        body = struct.pack(">H", 0) + text
        signed = self.label("partial") + struct.pack(">QII", self.run, self.number, counter) + body
        return (bytes([PARTIAL]) + self.point + struct.pack(">QII", self.run, self.number, counter) + self.sign(signed)
                + body)
