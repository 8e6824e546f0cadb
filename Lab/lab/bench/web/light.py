"""Browsers without a screen, many in this process: each takes the stream by WebRTC, opens none of its pictures, and reports
each second what has come. What they got is written as JSON, a line a second.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import selectors
import socket
import tempfile
import time

from OpenSSL import SSL

from lab.attack import browser
from lab.attack.browser import Gone, Page
from lab.attack.webrtc import PASSWORD, Stream
from lab.attack.wire import Identity
from lab.bench.web import srtcp
from lab.common.programs import Event

# Seconds between two reports, and between two requests for consent (RFC 7675, 5.1, has 5).
REPORT, CONSENT = 1, 2
# More than waits while another one is let in, in bytes.
BUFFER = 4 << 20


class Light:
    """One of them."""

    def __init__(self, port: int, media_port: int, host: str, code: str, identity: Identity, source: str) -> None:
        self.gone = ""
        self.page = Page(port, source, host=host)
        try:
            self.page.hello(code)
            self.stream = Watching(self.page, media_port, identity, source)
            self.reception = srtcp.Reception(self.stream.source)
            self.out, self.back = srtcp.ways(self.stream.connection)
        except BaseException:
            self.page.close()
            raise
        self.stream.socket.setblocking(False)
        self.media = self.stream.socket
        now = time.monotonic()
        self.report_due, self.consent_due = now, now + CONSENT

    def read(self) -> None:
        """All datagrams that have come."""
        # A packet for each call: no call more than there has to be.
        receive, packet, source = self.media.recv, self.reception.packet, self.stream.source.to_bytes(4, "big")
        with contextlib.suppress(BlockingIOError):
            while True:
                datagram = receive(2048)
                first = datagram[0]
                # RFC 7983, 7: STUN, DTLS, and the stream; RFC 5761, 4: RTCP.
                if first >= 128:
                    if 192 <= datagram[1] < 224:
                        self._control(datagram)
                    elif datagram[8:12] == source:
                        packet(datagram[2] << 8 | datagram[3], len(datagram))
                elif first < 4:
                    if reply := browser.check_answer(datagram, PASSWORD):
                        self._send(reply)
                elif 20 <= first < 64:
                    self._closed(datagram)

    def _control(self, datagram: bytes) -> None:
        packet = self.back.open(datagram)
        if packet is not None:
            self.reception.sender_report(packet, time.monotonic())

    def _closed(self, datagram: bytes) -> None:
        connection = self.stream.connection
        connection.bio_write(datagram)
        try:
            connection.recv(1)
        except SSL.WantReadError:
            return
        except SSL.Error:
            pass
        self.gone = "the host has closed the stream"

    def _send(self, datagram: bytes) -> None:
        with contextlib.suppress(OSError):
            self.media.sendto(datagram, (self.stream.host, self.stream.port))

    def read_page(self) -> None:
        """Answers the page's pings."""
        try:
            self.page.read(0.001)
        except Gone as reason:
            self.gone = str(reason)

    def tick(self, now: float) -> None:
        if now >= self.report_due:
            self.report_due = now + REPORT
            self._send(self.out.seal(self.reception.report(now)))
        if now >= self.consent_due:
            self.consent_due = now + CONSENT
            self.stream.check(self.media)


class Watching(Stream):
    """A stream whose source is known before its first packet."""

    profiles = srtcp.PROFILE

    def __init__(self, page: Page, port: int, identity: Identity, source: str) -> None:
        self.source = 0
        super().__init__(page, port, identity, source)

    def offered(self, sdp: str) -> None:
        super().offered(sdp)
        self.source = next(int(line.split(":")[1].split()[0]) for line in sdp.splitlines() if line.startswith("a=ssrc:"))

    @staticmethod
    def bound(source: str) -> socket.socket:
        media = Stream.bound(source)
        # As root beyond what the machine allows others.
        media.setsockopt(socket.SOL_SOCKET, getattr(socket, "SO_RCVBUFFORCE", 33), BUFFER)
        return media


class Crowd:
    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.selector = selectors.DefaultSelector()
        self.peers: list[Light] = []

    def run(self) -> None:
        with tempfile.TemporaryDirectory() as directory:
            identity = Identity(directory, "browser")
            for number in range(self.options.count):
                # A host takes few of one address.
                self.add(Light(self.options.port, self.options.media_port, self.options.host, self.options.code, identity,
                               f"127.0.80.{1 + number}"))
                self.serve(time.monotonic() + 0.1)
        say({"event": "watching"})
        while True:
            self.serve(time.monotonic() + 1)
            say({"event": "got", "peers": [
                {"received": one.reception.received, "expected": one.reception.expected, "bytes": one.reception.bytes,
                 "gone": one.gone} for one in self.peers]})

    def add(self, peer: Light) -> None:
        self.peers.append(peer)
        self.selector.register(peer.media, selectors.EVENT_READ, peer.read)
        self.selector.register(peer.page.socket, selectors.EVENT_READ, peer.read_page)

    def serve(self, end: float) -> None:
        while time.monotonic() < end:
            for key, _ in self.selector.select(0.02):
                key.data()
            for peer in self.peers:
                if peer.gone:
                    self.leave(peer)
                else:
                    peer.tick(time.monotonic())

    def leave(self, peer: Light) -> None:
        with contextlib.suppress(KeyError, ValueError):
            self.selector.unregister(peer.media)
            self.selector.unregister(peer.page.socket)


def say(event: Event) -> None:
    print(json.dumps(event), flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="lab.bench.web.light", description=__doc__)
    parser.add_argument("--host", required=True)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--media-port", type=int, required=True)
    parser.add_argument("--code", required=True)
    parser.add_argument("--count", type=int, required=True)
    Crowd(parser.parse_args()).run()
