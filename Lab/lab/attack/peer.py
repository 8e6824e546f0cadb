"""The attacker's viewer: it connects, is admitted or not, and breaks the rules of the protocol."""

from __future__ import annotations

import functools
import os
import select
import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable
from typing import Any, Self

from lab.attack import wire
from lab.attack.wire import Identity, Part

# What a viewer reports: arrivals, parts expected and missed, and its clock in µs; None: it reports nothing.
Report = tuple[list[wire.Arrival], int, int, int]
Lie = Callable[["Watcher", list[wire.Arrival], int, int], Report | None]


@functools.cache
def client_context(identity: Identity, protocol: str = "beamroom/2") -> ssl.SSLContext:
    """Created once for each identity: reading the two files takes longer than a handshake."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.set_alpn_protocols([protocol])
    context.load_cert_chain(identity.certificate_file, identity.key_file)
    return context


def connect(address: str, port: int, source: str | None = None, timeout: float = 5) -> socket.socket:
    """A TCP connection, from `source` if that is given."""
    connection = socket.create_connection((address, port), timeout, (source, 0) if source else None)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


class Refused(Exception):
    """The host refused or closed the connection."""


class Peer:
    """One control connection, for one thread at a time; datagrams may be sent by several."""

    def __init__(self, address: str, port: int, identity: Identity, source: str | None = None, timeout: float = 5,
                 protocol: str = "beamroom/2") -> None:
        self.address, self.source, self.identity = address, source, identity
        self.buffer = b""
        raw = connect(address, port, source, timeout)
        try:
            self.socket = client_context(identity, protocol).wrap_socket(raw, server_hostname="BeamRoom")
        except (OSError, ssl.SSLError) as error:
            raw.close()
            raise Refused(f"no TLS: {error}") from error
        self.host_device = wire.device_key(self.socket.getpeercert(True))
        self.session: Any = None
        self.welcome: Any = None
        self.counting = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self.socket.close()

    def send(self, message: bytes) -> None:
        try:
            self.socket.sendall(wire.framed(message))
        except (OSError, ssl.SSLError) as error:
            raise Refused(f"{error}") from error

    def read(self, timeout: float = 5) -> bytes | None:
        """The next message; None after the timeout."""
        deadline = time.monotonic() + timeout
        while True:
            message, self.buffer = wire.unframed(self.buffer)
            if message is not None:
                return message
            left = deadline - time.monotonic()
            if left <= 0:
                return None
            self.socket.settimeout(left)
            try:
                more = self.socket.recv(65536)
            except (TimeoutError, ssl.SSLWantReadError):
                return None
            except (OSError, ssl.SSLError) as error:
                raise Refused(f"{error}") from error
            finally:
                self.socket.settimeout(5)
            if not more:
                raise Refused("the connection was closed")
            self.buffer += more

    def wait_for(self, *kinds: int, timeout: float = 5) -> bytes | None:
        """The next message of one of these kinds; None after the timeout."""
        deadline = time.monotonic() + timeout
        while True:
            message = self.read(deadline - time.monotonic())
            if message is None or message[0] in kinds:
                return message
            if message[0] == wire.REFUSED:
                raise Refused(message[5:].decode(errors="replace"))

    def greet(self, name: str | bytes = "attacker", instance: int | None = None, features: int = 0) -> wire.Welcome:
        self.name = name if isinstance(name, bytes) else name.encode()
        instance = int.from_bytes(os.urandom(8), "big") if instance is None else instance
        self.send(wire.hello(name, instance, features))
        message = self.wait_for(wire.WELCOME)
        if message is None:
            raise Refused("no welcome")
        self.welcome = wire.Welcome.read(message)
        return self.welcome

    def join(self, name: str | bytes = "attacker", instance: int | None = None, features: int = 0,
             timeout: float = 5) -> wire.Session:
        """Greets and joins a host that admits everybody."""
        self.greet(name, instance, features)
        self.send(bytes([wire.JOIN]))
        message = self.wait_for(wire.SESSION, timeout=timeout)
        if message is None:
            raise Refused("not let in")
        self.session = wire.Session.read(message)
        return self.session

    # --- Datagrams

    def open_media(self, source: str | None = None) -> socket.socket:
        """A socket for datagrams, on the same address unless another one is given."""
        family = socket.AF_INET6 if ":" in self.address else socket.AF_INET
        media = socket.socket(family, socket.SOCK_DGRAM)
        media.bind((source or self.source or ("::" if family == socket.AF_INET6 else "0.0.0.0"), 0))
        media.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        self.counter = getattr(self, "counter", 0)
        return media

    def datagram(self, kind: int, plaintext: bytes) -> bytes:
        """The next sealed datagram of this viewer."""
        with self.counting:
            self.counter += 1
            number = self.counter - 1
        return self.session.viewer_key.seal(kind, number, plaintext)

    def say(self, media: socket.socket, kind: int, plaintext: bytes) -> None:
        media.sendto(self.datagram(kind, plaintext), (self.address, self.session.media_port))

    def say_hello(self, media: socket.socket, token: bytes = b"") -> None:
        self.say(media, wire.HELLO_DATAGRAM, struct.pack(">Q", clock()) + token)

    def come_in(self, media: socket.socket) -> None:
        """Sends a hello, and answers the host's challenge if there is one."""
        self.say_hello(media)
        if select.select([media], [], [], 0.1)[0]:
            token = wire.challenge(media.recv(2048), self.session.media_key)
            if token:
                self.say_hello(media, token)


def clock() -> int:
    """This side's monotonic clock in µs."""
    return time.monotonic_ns() // 1000


class Arrivals:
    """Which parts of the newest frames have come, as a report tells it."""

    def __init__(self) -> None:
        # Of each frame: parts that have come, the highest of them, and the times of the first and of the last.
        self.frames: dict[int, tuple[int, int, int, int]] = {}
        self.newest: int | None = None
        self.expected = 0

    def came(self, part: Part, highest: int, count: int = 1) -> None:
        """`count` parts up to `highest`, the first of which is `part`."""
        # What was sent again doesn't count.
        if part.flags & 4:
            return
        self.newest = part.frame
        now = clock()
        received, top, first, _ = self.frames.get(part.frame, (0, 0, now, now))
        if received == 0:
            self.expected += part.parts
        self.frames[part.frame] = (received + count, max(top, highest), first, now)
        while len(self.frames) > 12:
            self.frames.pop(next(iter(self.frames)))

    def entries(self, now: int) -> list[wire.Arrival]:
        return [(frame, received, highest, now - first, now - last)
                for frame, (received, highest, first, last) in list(self.frames.items())]


class Watcher(Arrivals):
    """An admitted viewer that takes the stream and reports how it arrives, truthfully or not.

    `lie(watcher, entries, expected, missed)` may change the report; entries are those of `wire.arrivals`.
    `report_from` is the socket that sends reports, if not the one that receives pictures.
    """

    def __init__(self, peer: Peer, media: socket.socket | None = None, lie: Lie | None = None,
                 on_part: Callable[[Watcher, Part], None] | None = None,
                 report_from: socket.socket | None = None, hellos: bool = True) -> None:
        self.peer = peer
        self.media = media or peer.open_media()
        self.report_from = report_from or self.media
        self.lie, self.on_part, self.hellos = lie, on_part, hellos
        self.bytes = self.datagrams = self.patches = self.newest_patch = 0
        super().__init__()
        self.missed = 0
        self.keys = {peer.session.media_key.number: peer.session.media_key}
        self.is_over = threading.Event()
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.trouble: Exception | None = None
        # The token of the host's last challenge; it proves that this address receives datagrams.
        self.token, self.token_until = b"", 0.0

    def __enter__(self) -> Self:
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.is_over.set()
        self.thread.join(10)
        self.media.close()

    def _run(self) -> None:
        try:
            next_hello = next_report = next_ping = 0.0
            while not self.is_over.is_set():
                now = time.monotonic()
                if self.hellos and now >= next_hello:
                    next_hello = now + 1
                    self.peer.say_hello(self.media, self.token if now < self.token_until else b"")
                if now >= next_ping:
                    next_ping = now + 4
                    self.peer.send(struct.pack(">BQ", wire.PING, 1))
                if now >= next_report:
                    next_report = now + 0.03
                    self.report()
                self._control()
                if select.select([self.media], [], [], 0.01)[0]:
                    self._take()
        except (Refused, OSError) as error:
            self.trouble = error

    def _control(self) -> None:
        """Takes new media keys and confirms them: without that the host waits for a second."""
        while self.peer.socket.pending() or select.select([self.peer.socket], [], [], 0)[0]:
            message = self.peer.read(0.2)
            if message is None:
                return
            if message[0] == wire.MEDIA_KEY:
                key = wire.Key.read(message[1:])
                self.keys[key.number] = key
                self.peer.send(struct.pack(">BH", wire.MEDIA_KEY_READY, key.number))

    def _take(self) -> None:
        self.media.setblocking(False)
        for _ in range(200):
            try:
                datagram = self.media.recv(2048)
            except BlockingIOError:
                break
            self.bytes += len(datagram)
            self.datagrams += 1
            key = self.keys.get(struct.unpack(">H", datagram[2:4])[0])
            if key is not None and datagram[0] == wire.STATE:
                token = wire.challenge(datagram, key)
                if token:
                    self.token, self.token_until = token, time.monotonic() + 3
                    self.peer.say_hello(self.media, token)
            if key is not None and datagram[0] == wire.PATCH:
                self.patches += 1
                self.newest_patch = struct.unpack(">I", key.open(datagram)[:4])[0]
            if key is None or datagram[0] != wire.MEDIA:
                continue
            part = wire.Part.read(key.open(datagram))
            self.came(part, part.part)
            if self.on_part:
                self.on_part(self, part)

    def report(self) -> None:
        now = clock()
        entries = self.entries(now)
        expected, missed = self.expected, self.missed
        if self.lie:
            answer = self.lie(self, entries, expected, missed)
            if answer is None:
                return
            entries, expected, missed, now = answer
        self.peer.say(self.report_from, wire.FEEDBACK, wire.report(now, expected, missed)
                      + (wire.arrivals(*entries[-12:]) if entries else b""))
