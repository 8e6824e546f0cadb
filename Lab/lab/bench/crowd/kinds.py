"""Kinds of misbehaviour of a viewer that the host knows."""

import os
import random
import signal
import struct
import time
from typing import Any

from lab.attack import wire
from lab.attack.peer import Peer, Refused, clock, connect
from lab.attack.wire import Arrival

# What it reports: its clock in µs, arrivals, parts expected and missed.
Said = tuple[int, list[Arrival], int, int]


class Kind:
    """A difference from an honest viewer. `--help` prints the docstring."""

    # False: it connects, but doesn't watch.
    watches = True
    reads_control = True
    reads_media = True
    pings = True

    def joined(self, viewer: Any) -> None:
        """The host has admitted it."""

    def tick(self, viewer: Any) -> None:
        """Called a hundred times a second."""

    def report(self, viewer: Any, now: int, entries: list[Arrival], expected: int, missed: int) -> Said | None:
        """The contents of a report; None: no report."""
        return now, entries, expected, missed


class StopTCP(Kind):
    """doesn't read the control connection"""
    reads_control = False


class StopUDP(Kind):
    """doesn't read datagrams"""
    reads_media = False

    def report(self, *_: object) -> Said | None:
        return None


class Stop(Kind):
    """stops the whole process (SIGSTOP) 1.5 s after admission"""

    def joined(self, viewer: Any) -> None:
        self.due = time.monotonic() + 1.5

    def tick(self, _: object) -> None:
        if time.monotonic() > self.due:
            self.due = float("inf")
            os.kill(os.getpid(), signal.SIGSTOP)


class FloodTCP(Kind):
    """sends 5,000 valid pings a second"""

    def tick(self, viewer: Any) -> None:
        viewer.peer.socket.sendall(wire.framed(struct.pack(">BQ", wire.PING, 1)) * 50)


class FloodUDP(Kind):
    """sends 2,000 authentic reports and hellos a second"""

    def tick(self, viewer: Any) -> None:
        for number in range(20):
            if number % 2:
                viewer.say(wire.HELLO_DATAGRAM, struct.pack(">Q", clock()))
            else:
                viewer.say_report()


class GarbageUDP(Kind):
    """sends 2,000 datagrams a second that aren't authentic"""

    def tick(self, viewer: Any) -> None:
        for number in range(20):
            header = struct.pack(">BBHQ", wire.FEEDBACK, 0, viewer.peer.session.viewer_key.number, number)
            viewer.send_datagram(header + os.urandom(80))


class Keyframes(Kind):
    """requests a keyframe 100 times a second"""

    def tick(self, viewer: Any) -> None:
        viewer.say(wire.FEEDBACK, wire.keyframe_wish((viewer.newest or 1) + 1))


class Everything(Kind):
    """requests all parts of the last 8 frames 100 times a second"""

    def tick(self, viewer: Any) -> None:
        newest = viewer.newest or 1
        viewer.say(wire.FEEDBACK, b"".join(wire.missing(newest - back) for back in range(8)))


class LieConstant(Kind):
    """reports that everything arrived at one moment, 50 ms ago"""

    def report(self, viewer: Any, now: int, entries: list[Arrival], expected: int, missed: int) -> Said | None:
        return now, [(*entry[:3], 50_000, 50_000) for entry in entries], expected, missed


class LieGrowing(Kind):
    """reports a delay that grows by 150 ms in a second"""

    def joined(self, viewer: Any) -> None:
        self.begin = time.monotonic()

    def report(self, viewer: Any, now: int, entries: list[Arrival], expected: int, missed: int) -> Said | None:
        return now + int(150_000 * (time.monotonic() - self.begin)), entries, expected, missed


class LieRandom(Kind):
    """reports random arrival times and losses"""

    def report(self, viewer: Any, now: int, entries: list[Arrival], expected: int, missed: int) -> Said | None:
        lies = []
        for frame, received, highest, _, _ in entries:
            first = random.randrange(1_000_000)
            lies.append((frame, received, highest, first, random.randrange(first + 1)))
        return now + random.randrange(-500_000, 500_000), lies, expected, random.randrange(expected + 1)


class LiePast(Kind):
    """reports that everything arrived before it was sent"""

    def report(self, viewer: Any, now: int, entries: list[Arrival], expected: int, missed: int) -> Said | None:
        return now, [(*entry[:3], 60_000_000, 59_000_000) for entry in entries], expected, missed


class NeverAcknowledge(Kind):
    """reports nothing"""

    def report(self, *_: object) -> Said | None:
        return None


class AcknowledgeUnsent(Kind):
    """reports frames, parts and retransmissions that were never sent"""

    def report(self, viewer: Any, now: int, entries: list[Arrival], expected: int, missed: int) -> Said | None:
        newest = viewer.newest or 1
        lies = [(newest + ahead, 60, 59, 20_000, 1000) for ahead in range(1, 9)]
        return now, entries[-4:] + lies, expected + 100_000, missed

    def tick(self, viewer: Any) -> None:
        newest = viewer.newest or 1
        viewer.say(wire.FEEDBACK, wire.report(clock(), viewer.expected + 100_000, 0, again=(newest + 5, 7)))


class ConnectLoop(Kind):
    """opens and closes 100 connections a second, and joins and leaves 5 times a second"""
    watches = False

    def tick(self, viewer: Any) -> None:
        viewer.turns += 1
        try:
            if viewer.turns % 20:
                connect(viewer.host[0], viewer.host[1], viewer.source, 1).close()
            else:
                host, port = viewer.host
                with Peer(host, port, viewer.identity, viewer.source, 1) as peer:
                    peer.join(viewer.name, timeout=1)
                    viewer.joins += 1
                    peer.send(bytes([wire.BYE]) + wire.text(""))
        except (Refused, OSError) as error:
            viewer.ended(error)


class GarbageTLS(Kind):
    """sends random bytes inside TLS, as messages and without their length"""

    def tick(self, viewer: Any) -> None:
        garbage = os.urandom(random.randrange(1, 600))
        viewer.peer.socket.sendall(wire.framed(garbage) if random.random() < 0.9 else garbage)


class SlowMessage(Kind):
    """sends a message of 10 MiB one byte at a time, 1,000 bytes a second; every other time one of 64,000 bytes"""
    pings = False

    def joined(self, viewer: Any) -> None:
        # A host that refuses messages of 10 MiB ends the connection at once; it has to wait for the shorter one.
        viewer.peer.socket.sendall(struct.pack(">I", 10 << 20 if viewer.joins % 2 else 64_000))

    def tick(self, viewer: Any) -> None:
        for _ in range(10):
            viewer.peer.socket.sendall(b"\x30")


KINDS = {
    "stop-tcp": StopTCP, "stop-udp": StopUDP, "sigstop": Stop, "flood-tcp": FloodTCP, "flood-udp": FloodUDP,
    "garbage-udp": GarbageUDP, "keyframes": Keyframes, "everything": Everything, "lie-constant": LieConstant,
    "lie-growing": LieGrowing, "lie-random": LieRandom, "lie-past": LiePast, "never-acknowledge": NeverAcknowledge,
    "acknowledge-unsent": AcknowledgeUnsent, "connect-loop": ConnectLoop, "garbage-tls": GarbageTLS,
    "slow-message": SlowMessage,
}


def turns_of(text: str) -> list[list[str]]:
    """Parses `a+b/c` into lists of kinds; ValueError for an unknown kind."""
    turns = [kinds.split("+") for kinds in text.split("/")]
    unknown = [kind for kinds in turns for kind in kinds if kind not in KINDS]
    if unknown:
        raise ValueError(f"there is no misbehaviour {', '.join(unknown)}")
    return turns
