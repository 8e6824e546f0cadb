"""A false gateway: Janus' WebSocket as a host meets it, which breaks one rule after another, a connection each."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import itertools
import json
import random
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from lab.attack.browser import BINARY, CLOSE, CONTINUATION, PING, PONG, TEXT, frame

# What a host asks, in this order; `info` is asked for again and again.
STEPS = ("session", "attach", "create", "info")
NUMBERS = ("0", "-1", "1.5", "1e400", "9223372036854775807", "9223372036854775808", "-9223372036854775809", "9" * 1000,
           "null", "true", '"7"', "[]", "{}")
ACK = b'{"janus": "ack"}'
# What a gateway does with one connection: it is given the socket after the WebSocket's beginning.
Behaviour = Callable[["FalseGateway", "Line"], None]


def plain(opcode: int, payload: bytes = b"", **how: Any) -> bytes:
    return frame(opcode, payload, masked=False, **how)


class Line:
    """One connection of a host."""

    def __init__(self, connection: socket.socket) -> None:
        self.socket, self.buffer = connection, b""
        connection.settimeout(10)

    def request(self) -> bytes:
        """The WebSocket's key."""
        while b"\r\n\r\n" not in self.buffer:
            self._receive()
        head, _, self.buffer = self.buffer.partition(b"\r\n\r\n")
        return next(line.split(b": ")[1] for line in head.split(b"\r\n") if line.startswith(b"Sec-WebSocket-Key: "))

    def open(self) -> None:
        accept = base64.b64encode(hashlib.sha1(self.request() + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest())
        self.socket.sendall(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                            b"Sec-WebSocket-Protocol: janus-protocol\r\nSec-WebSocket-Accept: " + accept + b"\r\n\r\n")

    def read(self) -> dict[str, Any]:
        """The next request. Raises OSError at the end."""
        while True:
            while len(self.buffer) < 8:
                self._receive()
            length, start = self.buffer[1] & 0x7F, 2
            if length == 126:
                length, start = int.from_bytes(self.buffer[2:4], "big"), 4
            while len(self.buffer) < start + 4 + length:
                self._receive()
            opcode, mask = self.buffer[0] & 0xF, self.buffer[start:start + 4]
            content = self.buffer[start + 4:start + 4 + length]
            self.buffer = self.buffer[start + 4 + length:]
            if opcode == TEXT:
                return json.loads(bytes(byte ^ mask[index % 4] for index, byte in enumerate(content)))
            if opcode == CLOSE:
                raise ConnectionError("the host has said goodbye")

    def say(self, text: str) -> None:
        self.socket.sendall(plain(TEXT, text.encode()))

    def _receive(self) -> None:
        more = self.socket.recv(65536)
        if not more:
            raise ConnectionError("the host has closed the connection")
        self.buffer += more


class FalseGateway:
    """Listens at a port of loopback until its end; each connection of the host gets the next of the behaviours."""

    def __init__(self, behaviours: Iterator[Behaviour]) -> None:
        self.behaviours, self.is_over = behaviours, threading.Event()
        self.connections = self.requests_for_keyframes = 0
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.listening.settimeout(0.2)
        self.port = self.listening.getsockname()[1]
        self.media = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(4)]
        for one in self.media:
            one.bind(("127.0.0.1", 0))
            one.setblocking(False)

    def run(self) -> None:
        with contextlib.ExitStack() as stack:
            for one in (self.listening, *self.media):
                stack.enter_context(one)
            while not self.is_over.is_set():
                with contextlib.suppress(OSError):
                    connection, _ = self.listening.accept()
                    self.connections += 1
                    # The host ends it, in its own way.
                    with connection, contextlib.suppress(OSError):
                        next(self.behaviours)(self, Line(connection))

    # --- As Janus answers

    def answer(self, request: dict[str, Any], viewers: str = "1") -> str:
        step = kind(request)
        if step in ("session", "attach"):
            return said(request, '"data": {"id": 7}')
        ports = [one.getsockname()[1] for one in self.media]
        streams = [f'{{"type": "{name}", "port": {ports[index]}, "rtcp_port": {ports[index + 1]}}}'
                   for name, index in (("video", 0), ("audio", 2))]
        data = {"create": f'{{"streaming": "created", "stream": {{"ports": [{", ".join(streams)}]}}}}',
                "info": f'{{"streaming": "info", "info": {{"viewers": {viewers}}}}}'}.get(step, '{"streaming": "destroyed"}')
        return said(request, f'"plugindata": {{"data": {data}}}')


def kind(request: dict[str, Any]) -> str:
    if request["janus"] == "create":
        return "session"
    return request["body"]["request"] if request["janus"] == "message" else request["janus"]


def said(request: dict[str, Any], rest: str) -> str:
    return f'{{"janus": "success", "transaction": "{request["transaction"]}", {rest}}}'


# --- What it does ----------------------------------------------------------------------------------------------------


def flood(sent: bytes, after: int = 0) -> Behaviour:
    """Sends the same without end, and reads nothing, after so many answers."""

    def play(gateway: FalseGateway, line: Line) -> None:
        line.open()
        for _ in range(after):
            line.say(gateway.answer(line.read()))
        block = sent * max(1, (1 << 18) // len(sent))
        while not gateway.is_over.is_set():
            line.socket.sendall(block)

    return play


def lie(step: str, text: str) -> Behaviour:
    """Answers right up to that step, and then so; `T` stands for the transaction."""

    def play(gateway: FalseGateway, line: Line) -> None:
        line.open()
        while True:
            request = line.read()
            line.say(text.replace("T", request["transaction"], 1) if kind(request) == step else gateway.answer(request))

    return play


def raw(sent: bytes, count: int = 1) -> Behaviour:
    """Sends that in place of the WebSocket's beginning, and closes."""

    def play(_: FalseGateway, line: Line) -> None:
        line.request()
        line.socket.sendall(sent * count)

    return play


def closed(after: int) -> Behaviour:
    """Closes after so many requests, the last of them without an answer."""

    def play(gateway: FalseGateway, line: Line) -> None:
        line.open()
        for _ in range(after):
            line.say(gateway.answer(line.read()))
        line.read()

    return play


def silent(after: int) -> Behaviour:
    """Says nothing any more after so many answers, and keeps the connection; before all of them, not even that it is open."""

    def play(gateway: FalseGateway, line: Line) -> None:
        if after:
            line.open()
        for _ in range(after - 1):
            line.say(gateway.answer(line.read()))
        line.socket.settimeout(0.2)
        while not gateway.is_over.is_set():
            with contextlib.suppress(TimeoutError):
                if not line.socket.recv(65536):
                    return

    return play


def storm(gateway: FalseGateway, line: Line) -> None:
    """Is ready, and asks for keyframes as fast as it can, and says that none, some or no end of viewers watch."""
    line.open()
    line.socket.settimeout(0.005)
    viewers, generator = itertools.cycle(("0", "1", "1e18", "-5", "0")), random.Random(35)
    source: Any = None
    while not gateway.is_over.is_set():
        with contextlib.suppress(TimeoutError):
            line.say(gateway.answer(line.read(), next(viewers)))
        for one in gateway.media:
            with contextlib.suppress(OSError):
                while True:
                    got, address = one.recvfrom(2048)
                    if one is gateway.media[1] and len(got) >= 8:
                        source = (address, got[4:8])
        if source is None:
            continue
        address, own = source
        for number in range(200):
            # A picture loss indication (RFC 4585, 6.3.1), of the host's source or of none; and random bytes.
            asked = struct.pack(">BBHI", 0x81, 206, 2, 1) + (own if number % 2 else bytes(4))
            sent = generator.randbytes(generator.randrange(1, 100)) if number % 10 == 9 else asked
            with contextlib.suppress(OSError):
                gateway.media[1].sendto(sent, address)
                gateway.requests_for_keyframes += 1


def all_behaviours() -> list[Behaviour]:
    """All but the storm."""
    long = b'{"janus": "ack", "x": "' + b"a" * 60_000 + b'"}'
    floods = [plain(PING), plain(PING, b"x" * 125), plain(PONG), plain(TEXT, ACK), plain(TEXT, long),
              plain(TEXT, ACK[:5], fin=False) + plain(CONTINUATION, b"", fin=False) * 5]
    made = '{"janus": "success", "transaction": "T", "data": {"id": %s}}'
    plugin = '{"janus": "success", "transaction": "T", "plugindata": {"data": %s}}'
    watched = '{"streaming": "info", "info": {"viewers": %s}}'
    port = '{"streaming": "created", "stream": {"ports": [{"type": "video", "port": %s, "rtcp_port": %s}]}}'
    lies = [lie("session", made % number) for number in NUMBERS]
    lies += [lie("create", plugin % (port % (number, number))) for number in (*NUMBERS, "65536")]
    lies += [lie("info", plugin % (watched % number)) for number in NUMBERS]
    lies += [lie(step, text) for step in STEPS for text in (
        "", "null", "[]", "{}", "[" * 60_000, '{"janus": ' * 6000, '{"janus": "timeout"}', made % 7 + made % 7,
        '{"janus": "error", "transaction": "T", "error": {"code": 1e99, "reason": "' + "\\u001b[2J" * 1000 + '"}}',
        plugin % '{"error_code": -1, "error": {"a": []}}', plugin % '{"streaming": "destroyed"}')]
    frames = [plain(TEXT, b"x", length=length) for length in (2 ** 16 + 1, 2 ** 32, 2 ** 63, 2 ** 64 - 1)]
    frames += [plain(BINARY, ACK), plain(CONTINUATION, ACK), frame(TEXT, ACK), plain(TEXT, ACK, reserved=4), plain(7, ACK),
               plain(CLOSE), plain(PING, b"x" * 126), b"\x81"]
    heads = [raw(b"HTTP/1.1 200 OK\r\n\r\n"), raw(b"SSH-2.0-x\r\n"), raw(b"HTTP/1.1 101 x\r\n\r\n"), raw(b"\0" * 65536, 64),
             raw(b"HTTP/1.1 101 " + b"x" * 65536, 64), raw(b""), raw(b"HTTP/1.1 101 x\r\n" + b"a: b\r\n" * 9000)]
    heads += [raw(b"HTTP/1.1 %d x\r\nLocation: %s\r\nContent-Length: 0\r\n\r\n" % (status, place))
              for status in (301, 302, 307) for place in (b"ws://127.0.0.1:1/", b"file:///dev/zero", b"/")]
    return [*(flood(sent, after) for after in (0, 4) for sent in floods), *lies, *(flood(sent, 1) for sent in frames),
            *heads, *(closed(after) for after in range(5))]


class Gateways:
    """Several false gateways. Call `run` in a process of its own."""

    def __init__(self, count: int) -> None:
        """One is a storm, one is silent in ever new places; the others share the rest."""
        rest = all_behaviours()
        random.Random(35).shuffle(rest)
        shared = itertools.cycle(rest)
        silence = itertools.cycle([silent(after) for after in (5, 0, 1, 2, 3, 4)])
        self.all = [FalseGateway(itertools.repeat(storm)), FalseGateway(silence),
                    *(FalseGateway(shared) for _ in range(count - 2))]

    @property
    def words(self) -> list[str]:
        return [word for gateway in self.all for word in ("--web-gateway", f"ws://127.0.0.1:{gateway.port}")]

    def run(self, seconds: float) -> tuple[int, int]:
        """How many connections came, and how many keyframes were asked for."""
        threads = [threading.Thread(target=gateway.run) for gateway in self.all]
        for thread in threads:
            thread.start()
        time.sleep(seconds)
        for gateway in self.all:
            gateway.is_over.set()
        for thread in threads:
            thread.join(15)
        return sum(gateway.connections for gateway in self.all), self.all[0].requests_for_keyframes
