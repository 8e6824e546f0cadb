"""Exact patches, as an attacker makes them: the content, its Zstandard frame, and what a frame says of the screen.

Written from the page WireVersion2 and RFC 8878; it shares no code with the program.
"""

import dataclasses
import struct
from collections.abc import Iterable, Sequence

from lab.attack import wire
from lab.attack.falsehost import FalseHost
from lab.attack.h264 import Picture

#: x, y, width and height, in pixels.
Rectangle = tuple[int, int, int, int]

# What a Zstandard frame begins with, and the most bytes of one of its blocks.
MAGIC = b"\x28\xb5\x2f\xfd"
BLOCK = 128 << 10
RAW, REPEATED = 0, 1
# Bytes of content in a datagram.
DATAGRAM = 1143
# The content's format, and the feature of those who take it.
FORMAT = 2
FEATURE = 1 << 16
CHANGES = bytes.fromhex("5c0e8f216b0a4d6e9a3bd14772e905c8")


def head(rectangles: Sequence[Rectangle], count: int | None = None, format_: int = FORMAT, flags: int = 0,
         basis: bytes = b"") -> bytes:
    """What precedes the pixels; `count`, if given, is told instead of the rectangles' number. `flags` say whether `basis`
    tells of the picture before.
    """
    first = bytes([format_, flags])
    return first + struct.pack(">H", len(rectangles) if count is None else count) + basis + b"".join(
        struct.pack(">HHHH", *rectangle) for rectangle in rectangles)


def moved(target: Rectangle, dx: int, dy: int, ages: tuple[int, int] = (0, 0)) -> bytes:
    """The `basis` of a patch with flags 1 and 2: the ages in µs of the picture before and of the last change of what is
    needed, where pixels have moved to, and by how much."""
    return struct.pack(">IIHHHHhh", *ages, *target, dx, dy)


def content(rectangles: Sequence[Rectangle], grey: int = 128) -> bytes:
    """A valid patch: all its rectangles in one grey."""
    return head(rectangles) + repeated(sum(width * height * 3 for _, _, width, height in rectangles), grey)


# --- Zstandard (RFC 8878) ---------------------------------------------------------------------------------------------


def block(kind: int, length: int, data: bytes, is_last: bool) -> bytes:
    return struct.pack("<I", is_last | kind << 1 | length << 3)[:3] + data


def repeated(length: int, byte: int = 128) -> bytes:
    """A frame of `length` equal bytes: four bytes of it for each 128 KiB."""
    return frame(length, length, byte)


def frame(told: int | None, length: int, byte: int = 128, window: int | None = None) -> bytes:
    """A frame that says that it has `told` bytes, and has `length`. Its window is told by a byte, or is all of it."""
    lengths = [BLOCK] * (length // BLOCK) + ([length % BLOCK] if length % BLOCK or not length else [])
    blocks = b"".join(block(REPEATED, size, bytes([byte]), index == len(lengths) - 1)
                      for index, size in enumerate(lengths))
    # Clause 3.1.1.1: the length's length in the upper two bits, then whether there is no window's byte.
    descriptor = (0xC0 if told is not None else 0) | (0 if window is not None or told is None else 0x20)
    if told is None and window is None:
        window = 0x58
    return (MAGIC + bytes([descriptor]) + (b"" if window is None else bytes([window]))
            + (b"" if told is None else struct.pack("<Q", told)) + blocks)


# --- On the wire ------------------------------------------------------------------------------------------------------


def part(number: int, index: int, parts: int, time: int, size: tuple[int, int], payload: bytes, kind: int = 1) -> bytes:
    """One datagram of a patch."""
    return (struct.pack(">IHHQHH", number & 0xFFFFFFFF, index, parts, time & (2 ** 64 - 1), *size)
            + bytes([kind]) + payload)


def send(host: FalseHost, number: int, whole: bytes, time: int, size: tuple[int, int]) -> int:
    """Sends a patch in as many datagrams as it takes: their number."""
    pieces = [whole[start:start + DATAGRAM] for start in range(0, len(whole), DATAGRAM)] or [b""]
    for index, piece in enumerate(pieces):
        host.datagram(wire.PATCH, part(number, index, len(pieces), time, size, piece))
    return len(pieces)


def saying(picture: Picture, time: int, changes: Iterable[tuple[Rectangle, int]]) -> Picture:
    """A picture with what it says of the screen in front: captured at `time`, and what changed last when."""
    told = list(changes)
    user = CHANGES + struct.pack(">BQH", 1, time, len(told)) + b"".join(
        struct.pack(">HHHHQ", *rectangle, changed) for rectangle, changed in told)
    length = bytes([255] * (len(user) // 255) + [len(user) % 255])
    unit = b"\x06" + escaped(b"\x05" + length + user + b"\x80")
    return dataclasses.replace(picture, data=struct.pack(">I", len(unit)) + unit + picture.data)


def escaped(payload: bytes) -> bytes:
    """With emulation prevention (H.264, clause 7.4.1)."""
    found = bytearray()
    for byte in payload:
        if byte <= 3 and found[-2:] == b"\0\0":
            found.append(3)
        found.append(byte)
    return bytes(found)
