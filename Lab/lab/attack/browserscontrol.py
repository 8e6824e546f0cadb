"""Attack of an admitted browser by what it reports and asks for: RTCP, protected as it has to be (SRTCP)."""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import itertools
import os
import random
import struct
import time
from collections.abc import Callable
from typing import Any

from lab.attack import browser
from lab.attack.browser import Page
from lab.attack.laboratory import Apart, Attack, Laboratory, Row, Verdict
from lab.attack.webplace import WEB_CODE, web_place
from lab.attack.webrtc import PASSWORD
from lab.bench.web import srtcp
from lab.bench.web.light import Watching

ADDRESS = "127.0.79.1"
# Datagrams a second.
RATE = 10_000
# RTP's header; what a datagram of RTCP has behind its own; in bytes.
HEADER, MOST_BODY = 12, 1400
# RFC 4585, 6.1: kinds and formats of feedback; RFC 5104, 4.3.1.
NACK, PLI, FIR = (205, 1), (206, 1), (206, 4)
# 32 bits at the ends of their ranges, and of those of 24 and 31 bits. As a share and a sum of losses, too.
ENDS = (0, 1, 0x7F_FFFF, 0x80_0000, 0x7FFF_FFFF, 0x8000_0000, 0xFF7F_FFFF, 0xFF80_0000, 0xFFFF_FFFF)
# Packets that a host may send again without having been asked for them: the last one, after a pause of 100 ms.
MOST_PROBES = 5
# The longest time, in seconds, in which the attacker's own stream has to go on after the attack.
MOST_PAUSE = 20

Maker = Callable[[], bytes]


@dataclasses.dataclass
class Found:
    """What an attacker saw, with times of CLOCK_MONOTONIC."""
    began: float
    # Of what was replayed and forged: when it ended, and the packets that were sent again until then.
    quiet_end: float = 0
    quiet_repeats: int = 0
    ended: float = 0
    sent: int = 0
    # Bytes of RTP's payload in each second: for the first time, and again.
    fresh: collections.Counter[int] = dataclasses.field(default_factory=collections.Counter)
    again: collections.Counter[int] = dataclasses.field(default_factory=collections.Counter)
    # Sender reports.
    reports: int = 0
    # From the attack's end until its stream went on; None if it didn't.
    pause: float | None = None


class Talker:
    """An admitted browser that makes RTCP of any kind, and counts what comes."""

    def __init__(self, page: Page, stream: Watching) -> None:
        self.page, self.stream, self.generator = page, stream, random.Random(35)
        self.out, _ = srtcp.ways(stream.connection)
        self.own, self.source = os.urandom(4), struct.pack(">I", stream.source)
        stream.socket.setblocking(False)
        self.found = Found(time.monotonic())
        self.newest, self.due = 0, 0.0
        # Numbers of packets that have come, those that have come again, and how often any has.
        self.seen, self.repeated, self.repeats = set(), set(), 0
        # For each 17 packets an entry, from 0 to 2^16.
        numbers = range(0, 1 << 16, 17)
        self.whole = itertools.cycle([struct.pack(">HH", number, 0xFFFF) for number in numbers])
        # Accepted packets.
        self.said: list[bytes] = []

    # --- Packets

    def feedback(self, kind: tuple[int, int], body: bytes = b"", own: bytes | None = None) -> bytes:
        return struct.pack(">BBH", 0x80 | kind[1], kind[0], 2 + len(body) // 4) + (own or self.own) + self.source + body

    def keyframe(self) -> bytes:
        if self.generator.randrange(2):
            return self.feedback(PLI)
        return self.feedback(FIR, self.source + bytes([self.generator.randrange(256), 0, 0, 0]))

    def missing(self, *numbers: int) -> bytes:
        return self.feedback(NACK, b"".join(struct.pack(">HH", number % (1 << 16), 0) for number in numbers))

    def newest_missing(self) -> bytes:
        return self.feedback(NACK, b"".join(
            struct.pack(">HH", (self.newest - back) % (1 << 16), 0xFFFF) for back in range(17, 1024, 17)))

    def random_missing(self) -> bytes:
        return self.feedback(NACK, self.generator.randbytes(MOST_BODY))

    def all_missing(self) -> bytes:
        return self.feedback(NACK, b"".join(itertools.islice(self.whole, MOST_BODY // 4)))

    def report(self, count: int = 31, block: tuple[int, ...] | None = None) -> bytes:
        """A receiver report of so many blocks (RFC 3550, 6.4.2), with numbers at the ends of their ranges."""
        blocks = [struct.pack(">5I", *(block or self.generator.choices(ENDS, k=5))) for _ in range(count)]
        head = struct.pack(">BBH", 0x80 | count, srtcp.RECEIVER_REPORT, 1 + 6 * count)
        return head + self.own + b"".join(self.source + block for block in blocks)

    def malformed(self) -> bytes:
        """A compound packet with changed bytes, or the beginning of one: lengths, counts and padding that lie. Its first two
        bytes are such that it is read as RTCP.
        """
        generator = self.generator
        whole = bytearray(self.report()[:generator.randrange(8, 200)] + self.keyframe() + self.random_missing()[:200])
        for _ in range(generator.randrange(1, 8)):
            whole[generator.randrange(8, len(whole))] = generator.choice((0, 1, 0x7F, 0x80, 0xFF, generator.randrange(256)))
        whole[0], whole[1] = 0x80 | generator.randrange(64), generator.randrange(192, 224)
        whole[2:4] = struct.pack(">H", generator.choice((0, 1, 2, 6, 50, 0xFFFF, generator.randrange(1 << 16))))
        if generator.randrange(20) == 0:
            # Longer than what is read.
            whole *= 8
        return bytes(whole[:generator.randrange(8, len(whole) + 1)])

    def strange(self) -> bytes:
        """Of a new sender each time."""
        return self.feedback(PLI, own=self.generator.randbytes(4))

    def replayed(self) -> bytes:
        """Protected already."""
        return self.generator.choice(self.said)

    def forged(self) -> bytes:
        """A new packet with a changed bit behind its head."""
        sealed = bytearray(self.out.seal(self.generator.choice((self.keyframe, self.newest_missing))()))
        sealed[self.generator.randrange(4, len(sealed))] ^= 1 << self.generator.randrange(8)
        return bytes(sealed)

    # --- Sending and reading

    def send(self, datagram: bytes) -> None:
        with contextlib.suppress(OSError):
            self.stream.socket.sendto(datagram, (self.stream.host, self.stream.port))

    def say(self, packet: bytes) -> None:
        """Once, to be replayed later."""
        self.said.append(self.out.seal(packet))
        self.send(self.said[-1])

    def flood(self, seconds: float, *makers: Maker, seals: bool = True) -> None:
        """Sends what they make in turns."""
        begin, count = time.monotonic(), 0
        while time.monotonic() < begin + seconds:
            for maker in itertools.islice(itertools.cycle(makers), 100):
                self.send(self.out.seal(maker()) if seals else maker())
            count += 100
            self.read()
            time.sleep(max(0, begin + count / RATE - time.monotonic()))
        self.found.sent += count

    def wait(self, seconds: float, until: Callable[[], Any] = lambda: False) -> bool:
        """Does what an honest browser does. False after the timeout."""
        end = time.monotonic() + seconds
        while not until():
            if time.monotonic() > end:
                return False
            self.read()
            time.sleep(0.01)
        return True

    def read(self) -> None:
        """All that has come; each second the host hears that this browser is there."""
        now = time.monotonic()
        if now > self.due:
            self.due = now + 1
            self.stream.check(self.stream.socket)
            self.send(self.out.seal(self.report(1, (0, self.newest, 0, 0, 0))))
        with contextlib.suppress(BlockingIOError):
            while True:
                datagram = self.stream.socket.recv(4096)
                # RFC 7983, 7; RFC 5761, 4.
                if datagram[0] < 4:
                    if reply := browser.check_answer(datagram, PASSWORD):
                        self.send(reply)
                elif datagram[0] >= 128 and 192 <= datagram[1] < 224:
                    self.found.reports += 1
                elif datagram[0] >= 128 and datagram[8:12] == self.source:
                    self._packet(datagram, int(now))
        self.page.read(0.001)

    def _packet(self, datagram: bytes, second: int) -> None:
        number = int.from_bytes(datagram[2:4], "big")
        # Only the first packet of a picture has an extension: few bytes more.
        length = len(datagram) - HEADER - srtcp.TAG
        if number in self.seen:
            self.repeats += 1
            self.repeated.add(number)
            self.found.again[second] += length
            return
        self.seen.add(number)
        # Numbers come again after 2^16.
        self.seen.discard((number + srtcp.HALF) % (1 << 16))
        self.newest = number
        self.found.fresh[second] += length

    # --- The attack

    def attack(self, seconds: float) -> Found:
        """What must have no effect first, then each kind for so long, and then all kinds."""
        # Only now, as the time before isn't judged.
        found = self.found = Found(time.monotonic())
        before = self.repeats
        self.flood(seconds, self.replayed, seals=False)
        self.flood(seconds, self.forged, seals=False)
        # The host's figures come each second.
        self.wait(1.2)
        found.quiet_end, found.quiet_repeats = time.monotonic(), self.repeats - before
        # Requests for keyframes first: when its budget is used up, or its losses are many, it gets layer 1, whose keyframes
        # the host doesn't count, as nobody else watches it.
        kinds: list[list[Maker]] = [
            [self.keyframe], [self.newest_missing, self.random_missing, self.all_missing], [self.malformed], [self.strange],
            [self.report]]
        for makers in [*kinds, list(itertools.chain(*kinds))]:
            self.flood(seconds, *makers)
        end, newest = time.monotonic(), self.newest
        if self.wait(MOST_PAUSE, lambda: self.newest != newest):
            found.pause = time.monotonic() - end
        found.ended = time.monotonic()
        return found


class Control(Attack):
    """A browser that was let in sends 10,000 control packets (SRTCP) a second: the same again and again, forged ones, and then
    authentic ones: requests for keyframes, for all packets and for random ones, malformed packets, ones of new senders,
    reports with numbers at the ends of their ranges, and all of these in turns."""

    name = "web-control"
    short = True

    def play(self, lab: Laboratory, row: Row) -> None:
        with web_place(lab, "--content", "video") as place:
            with place.attack(row), Page(place.port, ADDRESS) as page:
                page.hello(WEB_CODE)
                with Watching(page, place.media_port, lab.identity(), ADDRESS) as stream:
                    talker = Talker(page, stream)
                    self.prove(talker, place.scene.host)
                    with Apart(talker.attack, lab.seconds(2, 1)) as attacker:
                        found = attacker.result()
                    time.sleep(1.1)
                self.judge(row, found, place.scene.host)
            row.words += f"; {row.host_processor:.0%} of a core"

    @staticmethod
    def prove(talker: Talker, host: Any) -> None:
        """One request for a keyframe brings one, and one for a packet brings it."""
        # The host's figures come each second.
        talker.wait(2.2)
        before = keyframes(host)
        talker.say(talker.feedback(PLI))
        if not talker.wait(3, lambda: keyframes(host) > before):
            raise Verdict("unclear", "one request for a keyframe brings none")
        talker.wait(0.5)
        asked = talker.newest
        talker.say(talker.missing(asked))
        if not talker.wait(2, lambda: asked in talker.repeated):
            raise Verdict("unclear", "one request for a packet doesn't bring it")
        talker.wait(1.2)

    @staticmethod
    def judge(row: Row, found: Found, host: Any) -> None:
        quiet = keyframes(host, found.quiet_end) - keyframes(host, found.began)
        asked, took = keyframes(host) - keyframes(host, found.quiet_end), found.ended - found.quiet_end
        fresh, again = (sum(length.values()) / 1e6 for length in (found.fresh, found.again))
        pause = "didn't go on" if found.pause is None else f"went on after {found.pause:.1f} s"
        row.words = (f"{found.sent} packets; replayed and forged ones brought {quiet} keyframes and {found.quiet_repeats}"
                     f" packets, the others {asked} keyframes in {took:.0f} s and {again:.2f} MB again of {fresh:.2f} MB; its"
                     f" own stream {pause}")
        # One a second, by figures that come about each second.
        lines = [(event["at"], event["keyframes"]) for event in host.named("stats", found.began)]
        rapid = [more for (before, first), (at, then) in zip(lines, lines[1:]) if (more := then - first) > at - before + 1]
        # In any second as much again as there was in the one before: that is in two seconds of this clock.
        beyond = [second for second, length in found.again.items()
                  if length > found.fresh[second - 1] + found.fresh[second] + MOST_BODY]
        if quiet or found.quiet_repeats > MOST_PROBES:
            row.came = "taken"
        elif rapid or beyond or found.reports > found.ended - found.began + 3:
            row.came = "costs too much"
            row.words += (f"; {max(rapid, default=1)} keyframes in a second, {found.reports} sender reports, too much again in"
                          f" {len(beyond)} seconds")
        elif found.pause is None or not asked or not again:
            row.came = "unclear"


def keyframes(host: Any, until: float = float("inf")) -> int:
    """Those that the host has made for everybody, by then."""
    return max((event["keyframes"] for event in host.named("stats") if event["at"] <= until), default=0)


ATTACKS = [Control]
