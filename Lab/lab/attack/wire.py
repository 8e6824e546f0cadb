"""BeamRoom's protocol, version 2, as far as an attacker needs it: messages, sealed datagrams, and the parts of frames.

Written from the page WireVersion2; it shares no code with the program. Integers are big-endian.
"""

import dataclasses
import datetime
import hashlib
import os
import struct
from collections.abc import Iterable
from typing import Self

from cryptography import x509
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.x509.oid import NameOID

from lab.attack.h264 import Picture

HELLO, WELCOME, JOIN, SESSION = 0x01, 0x02, 0x03, 0x04
CODE_SHARE, CODE_CONFIRM, CODE_WAIT = 0x10, 0x11, 0x12
COMPARE_COMMIT, COMPARE_NONCE, COMPARE_REVEAL, PAIRED = 0x13, 0x14, 0x15, 0x16
MEDIA_KEY, MEDIA_KEY_READY, MEDIA_PORT, BROADCAST = 0x20, 0x21, 0x22, 0x23
SOUND_WANTED = 0x26
PING, PONG, REFUSED, BYE = 0x30, 0x31, 0x3E, 0x3F
BY_CODE, BY_COMPARING, OPEN = 1, 2, 4

MEDIA, HELLO_DATAGRAM, FEEDBACK, STATE, PARITY, SOUND, PATCH = 0xB1, 0xB2, 0xB3, 0xB4, 0xB5, 0xB6, 0xB7
# The feature of who sends or takes sound.
SOUND_FEATURE = 16
# An entry of a report: frame, parts arrived, the highest of them, age of the first and of the last in µs.
Arrival = tuple[int, int, int, int, int]
# Content of a full part, in bytes.
PART = 1144
# The largest clock that fits into 63 bits of nanoseconds, in µs.
LAST_MICROSECOND = (2 ** 63 - 1) // 1000


class Identity:
    """A P-256 key and its self-signed certificate, in two files for TLS libraries."""

    def __init__(self, directory: str, name: str) -> None:
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.certificate_file = os.path.join(directory, f"{name}.crt")
        self.key_file = os.path.join(directory, f"{name}.key")
        with open(self.key_file, "wb") as file:
            file.write(self.key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8,
                                              serialization.NoEncryption()))
        self.write_certificate()

    def write_certificate(self) -> None:
        title = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "BeamRoom")])
        certificate = (
            x509.CertificateBuilder().subject_name(title).issuer_name(title).public_key(self.key.public_key())
            .serial_number(x509.random_serial_number()).not_valid_before(datetime.datetime(1970, 1, 1))
            .not_valid_after(datetime.datetime(9999, 12, 31, 23, 59, 59)).sign(self.key, hashes.SHA256()))
        with open(self.certificate_file, "wb") as file:
            file.write(certificate.public_bytes(serialization.Encoding.PEM))
        self.device = device_key(certificate)


def device_key(certificate: x509.Certificate | bytes) -> bytes:
    """The device key: the SHA-256 of the public key. `certificate`: an X.509 object or DER."""
    if isinstance(certificate, bytes):
        certificate = x509.load_der_x509_certificate(certificate)
    info = certificate.public_key().public_bytes(serialization.Encoding.DER,
                                                 serialization.PublicFormat.SubjectPublicKeyInfo)
    return hashlib.sha256(info).digest()


# --- Messages --------------------------------------------------------------------------------------------------------


def framed(message: bytes) -> bytes:
    return struct.pack(">I", len(message)) + message


def unframed(buffer: bytes) -> tuple[bytes | None, bytes]:
    """The first message in a buffer, or None if it isn't whole yet, and the rest."""
    if len(buffer) >= 4:
        end = 4 + struct.unpack(">I", buffer[:4])[0]
        if len(buffer) >= end:
            return buffer[4:end], buffer[end:]
    return None, buffer


def text(value: str | bytes) -> bytes:
    encoded = value if isinstance(value, bytes) else value.encode()
    return struct.pack(">H", len(encoded)) + encoded


def hello(name: str | bytes, instance: int | None, features: int = 0, version: int = 2) -> bytes:
    return struct.pack(">BHIQ", HELLO, version, features, instance) + text(name)


def welcome(name: str | bytes, methods: int, nonce: bytes, trusted: bool = False, version: int = 2, features: int = 0) -> bytes:
    return struct.pack(">BHIBB", WELCOME, version, features, trusted, methods) + nonce + text(name)


@dataclasses.dataclass
class Welcome:
    version: int
    features: int
    trusted: bool
    methods: int
    nonce: bytes
    name: bytes

    @classmethod
    def read(cls, message: bytes) -> Self:
        version, features = struct.unpack(">HI", message[1:7])
        return cls(version, features, bool(message[7]), message[8], message[9:41], message[43:])


@dataclasses.dataclass
class Key:
    """A sealing key: AES-128-GCM, with a nonce of the key's salt and the datagram's counter."""
    number: int
    key: bytes
    salt: bytes

    @classmethod
    def new(cls, number: int) -> Self:
        return cls(number, os.urandom(16), os.urandom(4))

    @classmethod
    def read(cls, fields: bytes) -> Self:
        return cls(struct.unpack(">H", fields[:2])[0], fields[2:18], fields[18:22])

    @property
    def packed(self) -> bytes:
        return struct.pack(">H", self.number) + self.key + self.salt

    @property
    def for_sound(self) -> "Key":
        """The key of the sound beside what this one seals."""
        derived = HKDF(hashes.SHA256(), 20, None, b"BeamRoom 2 sound").derive(self.key + self.salt)
        return Key(self.number, derived[:16], derived[16:])

    def seal(self, kind: int, counter: int, plaintext: bytes) -> bytes:
        header = struct.pack(">BBHQ", kind, 0, self.number, counter)
        return header + AESGCM(self.key).encrypt(self.salt + header[4:], plaintext, header)

    def open(self, datagram: bytes) -> bytes:
        """The plaintext; an exception if it isn't authentic."""
        return AESGCM(self.key).decrypt(self.salt + datagram[4:12], datagram[12:], datagram[:12])


@dataclasses.dataclass
class Session:
    id: bytes
    media_port: int
    broadcasting: bool
    viewer_key: Key
    media_key: Key

    @classmethod
    def read(cls, message: bytes) -> Self:
        return cls(message[1:17], struct.unpack(">H", message[17:19])[0], bool(message[19]),
                   Key.read(message[20:42]), Key.read(message[42:64]))

    @property
    def message(self) -> bytes:
        return (bytes([SESSION]) + self.id + struct.pack(">HB", self.media_port, self.broadcasting)
                + self.viewer_key.packed + self.media_key.packed)


def commitment(viewer: bytes, host: bytes, welcome_nonce: bytes, nonce: bytes) -> bytes:
    return hashlib.sha256(b"BeamRoom 2 commit\0" + viewer + host + welcome_nonce + nonce).digest()


# --- Datagrams -------------------------------------------------------------------------------------------------------


def item(kind: int, value: bytes) -> bytes:
    return bytes([kind, len(value)]) + value


def challenge(datagram: bytes, key: Key) -> bytes | None:
    """The token in a state datagram of the host; None if it has none, or was sealed with another key."""
    if datagram[0] != STATE:
        return None
    try:
        items = key.open(datagram)
    except InvalidTag:
        return None
    while len(items) >= 2:
        kind, length = items[0], items[1]
        if kind == 4 and length >= 8:
            return items[2:10]
        items = items[2 + length:]
    return None


def keyframe_wish(frame: int, layer: int = 0) -> bytes:
    return item(1, struct.pack(">IB", frame & 0xFFFFFFFF, layer))


def missing(frame: int, ranges: Iterable[tuple[int, int]] = (), layer: int = 0) -> bytes:
    return item(2, struct.pack(">IB", frame & 0xFFFFFFFF, layer)
                + b"".join(struct.pack(">HH", first, count) for first, count in ranges))


def report(clock: int, expected: int, missed: int, layer: int = 0, again: tuple[int, int] | None = None) -> bytes:
    value = struct.pack(">QIIB", clock & (2 ** 64 - 1), expected & 0xFFFFFFFF, missed & 0xFFFFFFFF, layer)
    return item(3, value + (struct.pack(">IH", *again) if again else b""))


def arrivals(*entries: Arrival) -> bytes:
    return item(4, b"".join(struct.pack(">IHHII", frame & 0xFFFFFFFF, received, highest, first, last)
                            for frame, received, highest, first, last in entries))


def patches_missing(*numbers: int) -> bytes:
    """Numbers of exact patches, all parts of which a viewer lacks."""
    return item(8, b"".join(struct.pack(">IHH", number & 0xFFFFFFFF, 0, 0) for number in numbers))


def inexact(*tiles: tuple[int, int, int, int]) -> bytes:
    """Rectangles of tiles that a viewer hasn't exactly."""
    return item(7, b"".join(struct.pack(">HHHH", *rectangle) for rectangle in tiles))


@dataclasses.dataclass
class Part:
    """A media datagram's content."""
    frame: int
    part: int
    parts: int
    flags: int
    layer: int
    width: int
    height: int
    config: int
    time: int
    payload: bytes
    waited: int = 0
    encode: int = 0

    @classmethod
    def read(cls, plaintext: bytes) -> Self:
        frame, part, parts, flags, layer, width, height, config, time, waited, encode = struct.unpack(
            ">IHHBBHHHQHH", plaintext[:28])
        return cls(frame, part, parts, flags, layer, width, height, config, time, plaintext[28:], waited, encode)

    @property
    def bytes(self) -> bytes:
        return struct.pack(">IHHBBHHHQHH", self.frame & 0xFFFFFFFF, self.part, self.parts, self.flags, self.layer,
                           self.width, self.height, self.config, self.time & (2 ** 64 - 1), self.waited,
                           self.encode) + self.payload


def cut(frame: int, picture: Picture, time: int, layer: int = 0) -> list[Part]:
    """The parts of a frame; `picture` is one of `h264.py`'s."""
    whole = picture.config + picture.data
    parts = [whole[start:start + PART] for start in range(0, len(whole), PART)]
    flags = 3 if picture.config else 0
    return [Part(frame, index, len(parts), flags, layer, picture.width, picture.height,
                 len(picture.config) if index == 0 else 0, time, payload) for index, payload in enumerate(parts)]
