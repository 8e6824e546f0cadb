"""A viewer that the host knows and that misbehaves. Scripts/bench crowd starts several, each a process of its own.

It watches as an honest viewer does, except for its kinds of misbehaviour. After an eviction it returns at once.
At the end it writes as JSON how often it joined and why it was evicted.
"""

import argparse
import collections
import contextlib
import json
import os
import pathlib
import select
import signal
import socket
import ssl
import struct
import time
from typing import Any

from lab.attack import wire
from lab.attack.peer import Arrivals, Peer, Refused, clock
from lab.bench.crowd.kinds import KINDS, turns_of

# linux/udp.h
UDP_GRO = 104
TICK = 0.01
# Time from an eviction to the next try, in seconds.
PAUSE = 0.5


class KnownIdentity(wire.Identity):
    """The key that `beamroom-crowd prepare` made."""

    def __init__(self, key_file: str) -> None:
        from cryptography.hazmat.primitives import serialization

        self.key = serialization.load_pem_private_key(pathlib.Path(key_file).read_bytes(), None)
        self.key_file = key_file
        self.certificate_file = f"{key_file}.crt"
        self.write_certificate()


class Viewer(Arrivals):
    def __init__(self, turns: list[list[str]], host: tuple[str, int], identity: wire.Identity,
                 source: str, name: str) -> None:
        super().__init__()
        # Each connection uses the next of these lists of kinds.
        self.lists = [[KINDS[kind]() for kind in kinds] for kinds in turns]
        self.kinds, self.visits = self.lists[0], 0
        self.host, self.identity, self.source, self.name = host, identity, source, name
        self.joins = self.turns = 0
        self.endings = collections.Counter()
        # Those of the present visit.
        self.peer: Any = None
        self.media: Any = None

    def all(self, flag: str) -> bool:
        return all(getattr(kind, flag) for kind in self.kinds)

    def run(self, end: float) -> None:
        while time.monotonic() < end:
            self.kinds = self.lists[self.visits % len(self.lists)]
            self.visits += 1
            try:
                self.visit(end)
            except (Refused, OSError, ssl.SSLError) as error:
                self.ended(error)
            time.sleep(min(PAUSE, max(0, end - time.monotonic())))

    def ended(self, reason: object) -> None:
        self.endings[str(reason)[:120] or type(reason).__name__] += 1

    def visit(self, end: float) -> None:
        if not self.all("watches"):
            while time.monotonic() < end:
                begin = time.monotonic()
                for kind in self.kinds:
                    if not kind.watches:
                        kind.tick(self)
                time.sleep(max(0.001, TICK - (time.monotonic() - begin)))
            return
        with Peer(self.host[0], self.host[1], self.identity, self.source) as self.peer:
            self.peer.join(self.name)
            self.joins += 1
            self.begin_stream()
            try:
                for kind in self.kinds:
                    kind.joined(self)
                self.watch(end)
            finally:
                self.media.close()

    def begin_stream(self) -> None:
        self.media = self.peer.open_media()
        self.media.setsockopt(socket.IPPROTO_UDP, UDP_GRO, 1)
        self.media.setblocking(False)
        session = self.peer.session
        self.keys = {session.media_key.number: session.media_key}
        # Nothing has come.
        super().__init__()
        self.token, self.token_end = b"", 0.0

    def watch(self, end: float) -> None:
        next_hello = next_ping = next_report = next_tick = 0.0
        while (now := time.monotonic()) < end:
            if now >= next_hello:
                next_hello = now + (1 if self.frames or not self.all("reads_media") else 0.15)
                self.hello()
            if now >= next_ping and self.all("pings"):
                next_ping = now + 4
                self.peer.send(struct.pack(">BQ", wire.PING, 1))
            if now >= next_report:
                next_report = now + 0.03
                self.say_report()
            if now >= next_tick:
                next_tick = now + TICK
                for kind in self.kinds:
                    kind.tick(self)
            sources = [self.peer.socket] if self.all("reads_control") else []
            sources += [self.media] if self.all("reads_media") else []
            ready = select.select(sources, [], [], TICK / 2)[0] if sources else time.sleep(TICK / 2) or []
            if self.peer.socket in ready or (sources[:1] == [self.peer.socket] and self.peer.socket.pending()):
                self.take_control()
            if self.media in ready:
                self.take_media()

    # --- Receiving

    def take_control(self) -> None:
        while self.peer.socket.pending() or select.select([self.peer.socket], [], [], 0)[0]:
            try:
                more = self.peer.socket.recv(1 << 16)
            except ssl.SSLWantReadError:
                break
            if not more:
                raise Refused("the connection was closed")
            self.peer.buffer += more
            self.take_messages()

    def take_messages(self) -> None:
        buffer, start = self.peer.buffer, 0
        while len(buffer) >= start + 4:
            stop = start + 4 + struct.unpack_from(">I", buffer, start)[0]
            if len(buffer) < stop:
                break
            self.take_message(buffer[start + 4:stop])
            start = stop
        self.peer.buffer = buffer[start:]

    def take_message(self, message: bytes) -> None:
        if message[0] == wire.MEDIA_KEY:
            key = wire.Key.read(message[1:])
            self.keys[key.number] = key
            if self.all("pings"):
                self.peer.send(struct.pack(">BH", wire.MEDIA_KEY_READY, key.number))
        elif message[0] in (wire.REFUSED, wire.BYE):
            raise Refused("told: " + message[5 if message[0] == wire.REFUSED else 3:].decode(errors="replace"))

    def take_media(self) -> None:
        for _ in range(64):
            try:
                data, control, _, _ = self.media.recvmsg(1 << 16, socket.CMSG_SPACE(4))
            except BlockingIOError:
                return
            size = next((struct.unpack("=i", value[:4])[0] for level, kind, value in control
                         if (level, kind) == (socket.IPPROTO_UDP, UDP_GRO)), len(data)) or len(data)
            self.take_burst([data[start:start + size] for start in range(0, len(data), size)])

    def take_burst(self, datagrams: list[bytes]) -> None:
        """Opens the first and the last datagram of a burst: those between are parts of the same frame."""
        if len(datagrams) > 2 and all(datagram[0] == wire.MEDIA for datagram in datagrams):
            first, last = self.open(datagrams[0]), self.open(datagrams[-1])
            if first and last and first.frame == last.frame and last.part - first.part == len(datagrams) - 1:
                self.came(first, last.part, len(datagrams))
                return
        for datagram in datagrams:
            part = self.open(datagram)
            if part:
                self.came(part, part.part, 1)

    def open(self, datagram: bytes) -> wire.Part | None:
        """The part in a datagram; None if it holds none."""
        key = self.keys.get(struct.unpack_from(">H", datagram, 2)[0])
        if key is None:
            return None
        if datagram[0] == wire.STATE:
            token = wire.challenge(datagram, key)
            if token:
                self.token, self.token_end = token, time.monotonic() + 3
                self.hello()
        if datagram[0] != wire.MEDIA:
            return None
        return wire.Part.read(key.open(datagram))

    # --- Sending

    def hello(self) -> None:
        token = self.token if time.monotonic() < self.token_end else b""
        self.say(wire.HELLO_DATAGRAM, struct.pack(">Q", clock()) + token)

    def say(self, kind: int, plaintext: bytes) -> None:
        self.send_datagram(self.peer.datagram(kind, plaintext))

    def send_datagram(self, datagram: bytes) -> None:
        # If its socket is full, it can't send faster.
        with contextlib.suppress(BlockingIOError):
            self.media.sendto(datagram, (self.peer.address, self.peer.session.media_port))

    def say_report(self) -> None:
        now = clock()
        entries = self.entries(now)
        expected, missed = self.expected, 0
        for kind in self.kinds:
            said = kind.report(self, now, entries, expected, missed)
            if said is None:
                return
            now, entries, expected, missed = said
        self.say(wire.FEEDBACK, wire.report(now, expected, missed)
                 + (wire.arrivals(*entries[-12:]) if entries else b""))


def run() -> None:
    parser = argparse.ArgumentParser(
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description="A viewer that misbehaves.",
        epilog="kinds:\n" + "\n".join(f"  {name:<20}{kind.__doc__}" for name, kind in KINDS.items()))
    parser.add_argument("kinds", help="one, or several at once, joined by +, or in turns, joined by /")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--key", required=True, help="the file with its private key")
    parser.add_argument("--source", required=True, help="the address that it sends from")
    parser.add_argument("--name", default="crowd")
    parser.add_argument("--seconds", type=float, default=10)
    options = parser.parse_args()

    def end(*_: object) -> Any:
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, end)
    viewer = Viewer(turns_of(options.kinds), ("127.0.0.1", options.port), KnownIdentity(options.key), options.source,
                    options.name)
    # The measured processes have priority.
    os.nice(5)
    with contextlib.suppress(KeyboardInterrupt):
        viewer.run(time.monotonic() + options.seconds)
    # A second signal would end the process before it writes its result.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    print(json.dumps({"event": "misbehaved", "t": 0, "kinds": options.kinds, "joins": viewer.joins,
                      "endings": dict(viewer.endings)}), flush=True)


if __name__ == "__main__":
    run()
