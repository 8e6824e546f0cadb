"""A browser without a screen, by plain sockets: HTTP, the page's WebSocket (RFC 6455), the stream by https, and STUN."""

from __future__ import annotations

import base64
import contextlib
import functools
import hmac
import json
import os
import socket
import ssl
import struct
import time
import zlib
from typing import Any, Self

from lab.attack.peer import connect

HOST = "127.0.0.1"
# How a page gets the stream: WebRTC by http, whole access units in the WebSocket by https.
PACKETS, UNITS = "webrtc", "codecs"
AGENT = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
# RFC 6455, 5.2.
CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG = 0, 1, 2, 8, 9, 10


class Gone(Exception):
    """The host has closed the connection, or refused it."""


@functools.cache
def tls_context() -> ssl.SSLContext:
    """As of a person who clicks the warning away."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    return context


def open_way(port: int, source: str | None = None, secure: bool = False, timeout: float = 5,
             host: str = HOST) -> socket.socket:
    """A connection to the page's port; `secure`: TLS is established."""
    raw = connect(host, port, source, timeout)
    if not secure:
        return raw
    try:
        return tls_context().wrap_socket(raw, server_hostname="BeamRoom")
    except OSError as error:
        raw.close()
        raise Gone(f"no TLS: {error}") from error


# --- Requests --------------------------------------------------------------------------------------------------------


def request(target: str, *headers: str, method: str = "GET", version: str = "HTTP/1.1") -> bytes:
    return "\r\n".join([f"{method} {target} {version}", *headers, "", ""]).encode()


def upgrade(port: int, secure: bool = False, host: str = HOST) -> bytes:
    """The request with which the page opens its WebSocket."""
    scheme = "https" if secure else "http"
    return request("/ws", f"Host: {host}:{port}", f"Origin: {scheme}://{host}:{port}", *upgrade_headers())


def upgrade_headers() -> list[str]:
    key = base64.b64encode(os.urandom(16)).decode()
    return ["Upgrade: websocket", "Connection: Upgrade", f"Sec-WebSocket-Key: {key}", "Sec-WebSocket-Version: 13",
            f"User-Agent: {AGENT}"]


def ask(port: int, sent: bytes, source: str | None = None, secure: bool = False, timeout: float = 5) -> bytes:
    """Sends a request and returns all that is answered until the host closes; at most until the timeout."""
    answer, end = b"", time.monotonic() + timeout
    with open_way(port, source, secure, timeout) as way:
        with contextlib.suppress(OSError):
            way.sendall(sent)
            while time.monotonic() < end:
                more = way.recv(65536)
                if not more:
                    break
                answer += more
                # What follows an upgrade has no end.
                if status(answer) == 101:
                    break
    return answer


def status(answer: bytes) -> int | None:
    """Of a response; None if there is none."""
    words = answer.split(b"\r\n", 1)[0].split(b" ")
    return int(words[1]) if len(words) > 1 and words[0] == b"HTTP/1.1" and words[1].isdigit() else None


def page(port: int, source: str | None = None, secure: bool = False, timeout: float = 5) -> bool:
    """Whether the page is served."""
    try:
        answer = ask(port, request("/", f"Host: {HOST}:{port}"), source, secure, timeout)
    except (OSError, Gone):
        return False
    return status(answer) == 200 and b"</html>" in answer


# --- The WebSocket ---------------------------------------------------------------------------------------------------


def frame(opcode: int, payload: bytes, fin: bool = True, masked: bool = True, length: int | None = None,
          reserved: int = 0) -> bytes:
    """A client's frame; `length`: what its head says, if that isn't the truth."""
    said = len(payload) if length is None else length
    head = bytes([fin << 7 | reserved << 4 | opcode])
    mask_bit = masked << 7
    if said < 126:
        head += bytes([mask_bit | said])
    elif said < 1 << 16:
        head += struct.pack(">BH", mask_bit | 126, said)
    else:
        head += struct.pack(">BQ", mask_bit | 127, said)
    if not masked:
        return head + payload
    mask = os.urandom(4)
    whole = int.from_bytes(payload, "big") ^ int.from_bytes((mask * (len(payload) // 4 + 1))[:len(payload)], "big")
    return head + mask + whole.to_bytes(len(payload), "big")


class Page:
    """A page's WebSocket, for one thread at a time."""

    def __init__(self, port: int, source: str | None = None, secure: bool = False, timeout: float = 5,
                 host: str = HOST) -> None:
        self.secure, self.host, self.buffer = secure, host, b""
        self.socket = open_way(port, source, secure, timeout, host)
        try:
            self.socket.sendall(upgrade(port, secure, host))
            while b"\r\n\r\n" not in self.buffer:
                self._receive(timeout)
        except (OSError, Gone) as error:
            self.close()
            raise Gone(f"no WebSocket: {error}") from error
        answer, _, self.buffer = self.buffer.partition(b"\r\n\r\n")
        if status(answer) != 101:
            self.close()
            raise Gone(f"no WebSocket: {answer[:60]!r}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self.socket.close()

    def send_raw(self, sent: bytes) -> None:
        try:
            self.socket.sendall(sent)
        except OSError as error:
            raise Gone(f"{error}") from error

    def send(self, message: dict[str, Any] | str) -> None:
        text = message if isinstance(message, str) else json.dumps(message)
        self.send_raw(frame(TEXT, text.encode()))

    def goodbye(self) -> None:
        """Closes as a browser does for a page that is left (1001): it won't come again."""
        with contextlib.suppress(Gone):
            self.send_raw(frame(CLOSE, struct.pack(">H", 1001)))
            # A socket that is closed with something unread is reset, and the goodbye is lost.
            end = time.monotonic() + 2
            while time.monotonic() < end:
                self.read(0.5)
        self.close()

    def hello(self, code: str | None = None, form: str = PACKETS) -> None:
        self.send({"t": "hello", "v": 1, "can": [form]} | ({"code": code} if code else {}))

    def read(self, timeout: float = 5) -> dict[str, Any] | bytes | None:
        """The next message: JSON, or a unit of the stream; None after the timeout. Pings of the page are answered."""
        deadline = time.monotonic() + timeout
        while True:
            opcode, payload = self._frame()
            if opcode == CLOSE:
                raise Gone("the host has said goodbye")
            if opcode == BINARY:
                return payload
            if opcode == TEXT:
                message = json.loads(payload)
                if message["t"] != "ping":
                    return message
                self.send({"t": "pong"})
            elif opcode is None and not self._receive(deadline - time.monotonic()):
                return None

    def wait_for(self, *kinds: str, timeout: float = 5) -> dict[str, Any] | None:
        """The next message of one of these kinds; None after the timeout."""
        deadline = time.monotonic() + timeout
        while True:
            message = self.read(deadline - time.monotonic())
            if message is None or (isinstance(message, dict) and message["t"] in kinds):
                return message

    def _frame(self) -> tuple[int | None, bytes]:
        """The next whole frame that has arrived; a host's aren't masked, nor in parts."""
        if len(self.buffer) < 2:
            return None, b""
        length, start = self.buffer[1] & 0x7F, 2
        if length == 126:
            length, start = int.from_bytes(self.buffer[2:4], "big"), 4
        elif length == 127:
            length, start = int.from_bytes(self.buffer[2:10], "big"), 10
        if len(self.buffer) < start + length:
            return None, b""
        opcode, payload = self.buffer[0] & 0xF, self.buffer[start:start + length]
        self.buffer = self.buffer[start + length:]
        return opcode, payload

    def _receive(self, timeout: float) -> bool:
        if timeout <= 0:
            return False
        self.socket.settimeout(timeout)
        try:
            more = self.socket.recv(65536)
        except (TimeoutError, ssl.SSLWantReadError):
            return False
        except OSError as error:
            raise Gone(f"{error}") from error
        finally:
            self.socket.settimeout(5)
        if not more:
            raise Gone("the connection was closed")
        self.buffer += more
        return True


def watch(port: int, code: str, began: Any, ended: Any, source: str) -> list[float]:
    """An honest browser: comes by https, takes the stream until `ended`, and returns when each picture came. Sets `began`,
    an Event, with the second picture.
    """
    times = []
    with contextlib.suppress(Gone), Page(port, source, secure=True) as browser:
        browser.hello(code, UNITS)
        while not ended.is_set():
            unit = browser.read(0.5)
            # Flags: 2 is sound.
            if isinstance(unit, bytes) and not unit[0] & 2:
                times.append(time.monotonic())
                browser.send({"t": "drawn", "n": int.from_bytes(unit[1:5], "big")})
                if len(times) == 2:
                    began.set()
        browser.goodbye()
    return times


# --- STUN ------------------------------------------------------------------------------------------------------------

STUN_COOKIE = 0x2112A442
# The browser's own ICE name: the longest that is taken.
BROWSER_NAME = 32 * "b"
USERNAME, INTEGRITY, USE_CANDIDATE, FINGERPRINT = 0x0006, 0x0008, 0x0025, 0x8028


def attribute(kind: int, value: bytes) -> bytes:
    return struct.pack(">HH", kind, len(value)) + value + bytes(-len(value) % 4)


def binding_request(name: str, password: str, *, kind: int = 0x0001, nominates: bool = True, with_code: bool = True,
                    with_check: bool = True) -> bytes:
    """A connectivity check of ICE (RFC 8445, 7.1) by the media way's name and password."""
    transaction = os.urandom(12)
    body = attribute(USERNAME, f"{name}:{BROWSER_NAME}".encode()) + (attribute(USE_CANDIDATE, b"") if nominates else b"")

    def head(more: int) -> bytes:
        return struct.pack(">HHI", kind, len(body) + more, STUN_COOKIE) + transaction

    if with_code:
        body += attribute(INTEGRITY, hmac.digest(password.encode(), head(24) + body, "sha1"))
    if with_check:
        body += attribute(FINGERPRINT, struct.pack(">I", zlib.crc32(head(8) + body) ^ 0x5354554E))
    return head(0) + body


def is_answer(datagram: bytes, asked: bytes) -> bool:
    """Whether it is a binding success response to that request."""
    return datagram[:2] == b"\x01\x01" and datagram[4:20] == asked[4:20]


def check_answer(asked: bytes, password: str) -> bytes:
    """To a connectivity check of the host's, by the browser's password (RFC 8445, 7.3); nothing to what is none."""
    if asked[:2] != b"\x00\x01":
        return b""
    head = struct.pack(">HH", 0x0101, 24) + asked[4:20]
    return head + attribute(INTEGRITY, hmac.digest(password.encode(), head, "sha1"))


def media_secrets(sdp: str) -> tuple[str, str]:
    """ICE's name and password of an offer."""
    fields = dict(line[2:].split(":", 1) for line in sdp.splitlines() if line.startswith("a=ice-") and ":" in line)
    return fields["ice-ufrag"], fields["ice-pwd"]
