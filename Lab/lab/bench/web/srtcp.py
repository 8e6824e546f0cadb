"""RTCP as a browser sends and reads it: receiver reports (RFC 3550), secured by SRTCP with AES-GCM (RFC 7714)."""

from __future__ import annotations

import os
import struct

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from OpenSSL import SSL

SENDER_REPORT, RECEIVER_REPORT = 200, 201
PROFILE = b"SRTP_AEAD_AES_128_GCM"
KEY, SALT, TAG = 16, 12, 16
# RFC 3711, 4.3.2.
SRTCP_KEY, SRTCP_SALT = 3, 5
# Bits a sequence number has beyond its 16: differences are less than half of these.
HALF = 1 << 15


def derived(key: bytes, salt: bytes, label: int, length: int) -> bytes:
    """A session's key or salt of the master's (RFC 3711, 4.3.1 and 4.3.3, with a derivation rate of 0). A salt of 12 bytes
    is filled up with zeros (RFC 7714, 11).
    """
    filled = bytearray(salt.ljust(14, b"\0"))
    filled[7] ^= label
    counter = Cipher(algorithms.AES(key), modes.CTR(bytes(filled) + b"\0\0")).encryptor()
    return counter.update(bytes(length))


class Way:
    """RTCP in one direction, by the master key and salt of whoever sends it."""

    def __init__(self, key: bytes, salt: bytes) -> None:
        self.cipher = AESGCM(derived(key, salt, SRTCP_KEY, KEY))
        self.salt = derived(key, salt, SRTCP_SALT, SALT)
        self.index = 0

    def _nonce(self, source: bytes, index: bytes) -> bytes:
        """RFC 7714, 9.1."""
        plain = b"\0\0" + source + b"\0\0" + index
        return bytes(one ^ other for one, other in zip(plain, self.salt))

    def seal(self, packet: bytes) -> bytes:
        """RFC 7714, 9.2. Its header and its sender's SSRC stay in the clear."""
        self.index += 1
        index = struct.pack(">I", self.index)
        # The first bit says that it is encrypted.
        trailer = struct.pack(">I", self.index | 1 << 31)
        sealed = self.cipher.encrypt(self._nonce(packet[4:8], index), packet[8:], packet[:8] + trailer)
        return packet[:8] + sealed + trailer

    def open(self, packet: bytes) -> bytes | None:
        """None if it isn't authentic."""
        if len(packet) < 8 + TAG + 4:
            return None
        trailer = packet[-4:]
        index = struct.pack(">I", int.from_bytes(trailer, "big") & 0x7FFF_FFFF)
        try:
            return packet[:8] + self.cipher.decrypt(self._nonce(packet[4:8], index), packet[8:-4], packet[:8] + trailer)
        except InvalidTag:
            return None


def ways(connection: SSL.Connection) -> tuple[Way, Way]:
    """A client's way to the server, and back (RFC 5764, 4.2), if it has offered nothing but PROFILE."""
    material = connection.export_keying_material(b"EXTRACTOR-dtls_srtp", 2 * (KEY + SALT))
    keys, salts = material[:2 * KEY], material[2 * KEY:]
    return Way(keys[:KEY], salts[:SALT]), Way(keys[KEY:], salts[SALT:])


class Reception:
    """What has come of one source, by the sequence numbers of its packets."""

    def __init__(self, source: int) -> None:
        self.source, self.own = source, os.urandom(4)
        self.first: int | None = None
        self.highest = self.bytes = 0
        self.missing: set[int] = set()
        # At the last report.
        self.before = (0, 0)
        # The middle of a sender report's NTP time, and when it came.
        self.heard: tuple[int, float] | None = None

    @property
    def expected(self) -> int:
        return 0 if self.first is None else self.highest - self.first + 1

    @property
    def received(self) -> int:
        return self.expected - len(self.missing)

    def packet(self, number: int, length: int) -> None:
        """An RTP packet with that sequence number."""
        self.bytes += length
        if self.first is None:
            # Room for packets that come before it.
            self.first = self.highest = number + (1 << 16)
            return
        step = (number - self.highest + HALF) % (1 << 16) - HALF
        if step > 1:
            self.missing.update(range(self.highest + 1, self.highest + step))
        if step > 0:
            self.highest += step
        else:
            self.missing.discard(self.highest + step)

    def sender_report(self, packet: bytes, now: float) -> None:
        """RFC 3550, 6.4.1."""
        if packet[1] == SENDER_REPORT and len(packet) >= 28 and packet[4:8] == struct.pack(">I", self.source):
            self.heard = int.from_bytes(packet[10:14], "big"), now

    def report(self, now: float) -> bytes:
        """A receiver report (RFC 3550, 6.4.2). It says nothing of the jitter."""
        expected, lost = self.expected - self.before[0], len(self.missing) - self.before[1]
        self.before = self.expected, len(self.missing)
        share = max(0, min(255, 256 * lost // expected)) if expected else 0
        said, at = self.heard or (0, now)
        # The upper half says how often the numbers began anew.
        highest = max(0, self.highest - (1 << 16))
        return struct.pack(">BBH4sIIIIII", 0x81, RECEIVER_REPORT, 7, self.own, self.source, share << 24 | len(self.missing),
                           highest, 0, said, int(max(0, now - at) * 65536) if self.heard else 0)
