"""The attacker's host: it accepts a viewer's connection, and breaks the rules of the protocol."""

from __future__ import annotations

import contextlib
import os
import select
import socket
import struct
import threading
import time
from collections.abc import Callable
from typing import Any, Self

from OpenSSL import SSL, crypto

from lab.attack import wire
from lab.attack.h264 import Picture
from lab.attack.peer import Refused, clock
from lab.attack.wire import Identity

# What a false host does with a connection.
Body = Callable[["FalseHost", "Connection"], None]


def server_context(identity: Identity) -> SSL.Context:
    context = SSL.Context(SSL.TLS_METHOD)
    context.set_min_proto_version(SSL.TLS1_3_VERSION)
    context.use_certificate_file(identity.certificate_file)
    context.use_privatekey_file(identity.key_file)
    # Any certificate is accepted; the attack checks the key.
    context.set_verify(SSL.VERIFY_PEER | SSL.VERIFY_FAIL_IF_NO_PEER_CERT, lambda *_: True)
    context.set_alpn_select_callback(lambda _, offered: b"beamroom/2" if b"beamroom/2" in offered else offered[0])
    return context


class Connection:
    """A viewer's control connection, for one thread."""

    def __init__(self, raw: socket.socket, context: SSL.Context) -> None:
        raw.setblocking(False)
        self.raw, self.tls = raw, SSL.Connection(context, raw)
        self.tls.set_accept_state()
        self.buffer = b""
        self._patiently(self.tls.do_handshake)
        self.device = wire.device_key(crypto.dump_certificate(crypto.FILETYPE_ASN1, self.tls.get_peer_certificate()))

    def _patiently(self, call: Callable[..., Any], *arguments: Any, timeout: float = 5) -> Any:
        deadline = time.monotonic() + timeout
        while True:
            left = max(0, deadline - time.monotonic())
            try:
                return call(*arguments)
            except SSL.WantReadError:
                ready = select.select([self.raw], [], [], left)[0]
            except SSL.WantWriteError:
                ready = select.select([], [self.raw], [], left)[1]
            except (SSL.Error, OSError) as error:
                raise Refused(f"{error!r}") from error
            if not ready and left <= 0:
                raise TimeoutError

    def send(self, message: bytes, timeout: float = 5) -> None:
        self.send_raw(wire.framed(message), timeout)

    def send_raw(self, data: bytes, timeout: float = 5) -> None:
        """Sends everything; TimeoutError if the viewer reads nothing for that long."""
        view = memoryview(data)
        while view:
            view = view[self._patiently(self.tls.send, bytes(view[:65536]), timeout=timeout):]

    def read(self, timeout: float = 5) -> bytes | None:
        """The next message; None after the timeout."""
        deadline = time.monotonic() + timeout
        while True:
            message, self.buffer = wire.unframed(self.buffer)
            if message is not None:
                return message
            try:
                self.buffer += self._patiently(self.tls.recv, 65536, timeout=max(0, deadline - time.monotonic()))
            except TimeoutError:
                return None

    def wait_for(self, *kinds: int, timeout: float = 5) -> bytes | None:
        deadline = time.monotonic() + timeout
        while True:
            message = self.read(deadline - time.monotonic())
            if message is None or message[0] in kinds:
                return message

    def close(self) -> None:
        self.raw.close()


class FalseHost:
    """Listens on a free port. `body(host, connection)` runs for each connection, in its own thread."""

    def __init__(self, identity: Identity, body: Body, name: str = "desk", methods: int = wire.OPEN,
                 address: str = "127.0.0.1", trusted: bool = False) -> None:
        self.identity, self.body, self.name, self.methods = identity, body, name, methods
        self.address, self.trusted = address, trusted
        # The bit set that its welcome names.
        self.features = 0
        # That of the last viewer's hello.
        self.viewer_features = 0
        self.context = server_context(identity)
        self.listener = socket.create_server((address, 0), backlog=64)
        self.port = self.listener.getsockname()[1]
        self.media = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.media.bind((address, 0))
        self.media.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
        self.media_key, self.viewer_key = wire.Key.new(1), wire.Key.new(2)
        self.counter = 0
        self.viewer: Any = None
        self.connections = 0
        self.is_over = threading.Event()
        self.troubles = []

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.is_over.set()
        # shutdown() wakes the thread in accept().
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()

    def _accept(self) -> None:
        while not self.is_over.is_set():
            try:
                raw, _ = self.listener.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self._serve, args=(raw,), daemon=True).start()

    def _serve(self, raw: socket.socket) -> None:
        try:
            connection = Connection(raw, self.context)
            try:
                self.body(self, connection)
            finally:
                connection.close()
        except (Refused, TimeoutError, OSError) as error:
            self.troubles.append(error)
            raw.close()

    # --- Common beginnings of bodies

    def greet(self, connection: Connection) -> tuple[bytes, bytes]:
        """Receives the viewer's hello and sends the welcome; returns its name and the welcome's nonce."""
        message = connection.wait_for(wire.HELLO)
        if message is None:
            raise Refused("no hello")
        self.viewer_features = struct.unpack(">I", message[3:7])[0]
        nonce = os.urandom(32)
        connection.send(wire.welcome(self.name, self.methods, nonce, self.trusted, features=self.features))
        return message[17:], nonce

    def admit(self, connection: Connection) -> None:
        """Admits a viewer that was welcomed, and waits until its hello has named the address for its pictures."""
        if connection.wait_for(wire.JOIN) is None:
            raise Refused("it doesn't join")
        # Hellos of an earlier session may have come from a socket that is closed now.
        self.media.setblocking(False)
        try:
            while self.media.recv(2048):
                pass
        except BlockingIOError:
            pass
        connection.send(wire.Session(os.urandom(16), self.media.getsockname()[1], True, self.viewer_key,
                                     self.media_key).message)
        connection.send(bytes([wire.BROADCAST, 1]))
        self.media.settimeout(5)
        _, self.viewer = self.media.recvfrom(2048)
        self.media.setblocking(False)

    def answer(self, connection: Connection, timeout: float = 0, pong: int | None = None) -> None:
        """Answers pings as an honest host does; `pong`, if given, replaces the clock."""
        message = connection.read(timeout)
        while message is not None:
            if message[0] == wire.PING:
                time_ = clock() if pong is None else pong
                connection.send(message[:0] + bytes([wire.PONG]) + message[1:9]
                                + struct.pack(">Q", time_ & (2 ** 64 - 1)))
            message = connection.read(0)

    def datagram(self, kind: int, plaintext: bytes) -> None:
        """Seals with the media key, and sends to the viewer."""
        sealed = self.media_key.seal(kind, self.counter, plaintext)
        self.counter += 1
        self.send(sealed)

    def send(self, sealed: bytes) -> None:
        with contextlib.suppress(BlockingIOError, ConnectionRefusedError):
            self.media.sendto(sealed, self.viewer)

    def show(self, frame: int, picture: Picture, time_: int | None = None) -> None:
        """Sends a whole frame."""
        for part in wire.cut(frame, picture, clock() if time_ is None else time_):
            self.datagram(wire.MEDIA, part.bytes)
