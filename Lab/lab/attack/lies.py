"""False reports about the stream, and streams aimed at somebody else."""

import contextlib
import socket
import struct
import time

from lab.attack import wire
from lab.attack.laboratory import Attack, Laboratory, Row, Scene
from lab.attack.peer import Report, Watcher, clock
from lab.attack.wire import Arrival


def drain(victim: socket.socket) -> int:
    """Takes what has come at the victim's address; in bytes."""
    got = 0
    with contextlib.suppress(BlockingIOError):
        while True:
            got += len(victim.recv(2048))
    return got


class ThirdParty(Attack):
    """One hello comes from a victim's address, everything after it from elsewhere: what does the victim get in 10 s?"""

    name = "third-party"
    short = True

    def play(self, lab: Laboratory, row: Row) -> None:
        with lab.scene("--content", "video") as scene:
            guide, liar = scene.peer("127.0.5.5"), scene.peer("127.0.5.5")
            guide.join()
            liar.join()
            victim = liar.open_media("127.0.6.6")
            elsewhere = liar.open_media("127.0.5.5")
            got, hello = 0, liar.datagram(wire.HELLO_DATAGRAM, struct.pack(">Q", clock()))
            # A second viewer of the attacker receives the frames, so that the reports are plausible.
            with scene.attack(row), Watcher(guide) as watcher:
                victim.sendto(hello, (liar.address, liar.session.media_port))
                victim.setblocking(False)
                end = time.monotonic() + lab.seconds(10, 4)
                while time.monotonic() < end:
                    time.sleep(0.03)
                    got += drain(victim)
                    now = clock()
                    entries = watcher.entries(now)
                    liar.say(elsewhere, wire.FEEDBACK,
                             wire.report(now, watcher.expected, 0) + (wire.arrivals(*entries) if entries else b""))
            victim.close()
            elsewhere.close()
        row.words = f"{got} bytes for {len(hello)}"
        if got > 3 * len(hello):
            row.came = "aimed"


class MovedStream(Attack):
    """An admitted viewer moves its running stream to a victim's address: what does the victim get in 5 s?"""

    name = "third-party-move"

    def play(self, lab: Laboratory, row: Row) -> None:
        with lab.scene("--content", "video") as scene:
            liar = scene.peer("127.0.5.5")
            liar.join()
            victim = liar.open_media("127.0.6.6")
            got, said = 0, 0
            with scene.attack(row), Watcher(liar, hellos=False) as watcher:
                liar.say_hello(watcher.media)
                time.sleep(2)
                hello = liar.datagram(wire.HELLO_DATAGRAM, struct.pack(">Q", clock()))
                victim.sendto(hello, (liar.address, liar.session.media_port))
                said += len(hello)
                victim.setblocking(False)
                end = time.monotonic() + lab.seconds(5, 3)
                while time.monotonic() < end:
                    time.sleep(0.05)
                    got += drain(victim)
            victim.close()
        row.words = f"{got} bytes for {said}"
        if got > 3 * said:
            row.came = "aimed"


class Liar(Attack):
    """An admitted viewer reports false delay and false loss in turns, beside an honest one."""

    name = "liar"
    slow_seconds = 2

    def play(self, lab: Laboratory, row: Row) -> None:
        with lab.scene("--content", "video") as scene:
            time.sleep(1)
            calm = round(scene.viewer.named("stats")[-1]["fps"])
            said = self.against(lab, scene, row)
        row.words = f"{said}{calm} frames a second before it came, then {', '.join(map(str, row.rates))}"

    def against(self, lab: Laboratory, scene: Scene, row: Row) -> str:
        """Lies for some seconds; returns the beginning of the row's words."""
        peer = scene.peer()
        peer.join()
        with scene.attack(row):
            self.begin = time.monotonic()
            with Watcher(peer, lie=self.lie) as watcher:
                watcher.thread.join(lab.seconds(9, 4))
        return ""

    def lie(self, watcher: Watcher, entries: list[Arrival], expected: int, missed: int) -> Report | None:
        passed = time.monotonic() - self.begin
        # A queue that grows and drains, and a loss of one third, in turns of 1.5 s.
        late = int(400_000 * (passed % 1.5)) if int(passed / 1.5) % 2 == 0 else 0
        lost = expected // 3 if int(passed / 1.5) % 2 else missed
        return entries, expected, lost, clock() + late


class SlowLiar(Liar):
    """An admitted viewer reports a growing delay from its first report on, and requests all parts again."""

    name = "liar-slow"

    def lie(self, watcher: Watcher, entries: list[Arrival], expected: int, missed: int) -> Report | None:
        if watcher.newest:
            watcher.peer.say(watcher.media, wire.FEEDBACK, b"".join(
                wire.missing(watcher.newest - back) for back in range(8)))
        return entries, expected, expected // 4, clock() + int(150_000 * (time.monotonic() - self.begin))


class RhythmicLiar(Liar):
    """An admitted viewer reports nothing new as arrived, but is honest once just before it would be detected."""

    name = "liar-rhythm"
    pause = 0.8

    def __init__(self) -> None:
        self.said, self.old = 0.0, []

    def lie(self, watcher: Watcher, entries: list[Arrival], expected: int, missed: int) -> Report | None:
        now = time.monotonic() - self.begin
        if now - self.said > self.pause and entries:
            self.said, self.old = now, entries[:1]
            return entries, expected, missed, clock()
        # The previous report with a later clock, so that the viewer isn't silent.
        return (self.old, expected, missed, clock()) if self.old else None


class ReturningLiar(Liar):
    """An admitted device reports nothing as arrived, and returns as another instance when it is detected."""

    name = "liar-again"

    def against(self, lab: Laboratory, scene: Scene, row: Row) -> str:
        came = 0
        with scene.attack(row):
            end = time.monotonic() + lab.seconds(10, 5)
            while time.monotonic() < end:
                with scene.peer() as peer:
                    peer.join()
                    came += 1
                    self.first = []
                    with Watcher(peer, lie=self.lie) as watcher:
                        watcher.thread.join(1.4)
                    peer.send(bytes([wire.BYE]) + wire.text(""))
        return f"it came {came} times; "

    def lie(self, watcher: Watcher, entries: list[Arrival], expected: int, missed: int) -> Report | None:
        # Only the first frames are reported, so the bytes in flight seem to grow without end.
        if len(self.first) < 4:
            self.first = entries[:4]
        return (self.first, expected, missed, clock()) if self.first else None


class KeyframeStorm(Attack):
    """Three admitted viewers request a keyframe 100 times a second each."""

    name = "keyframe-storm"

    def play(self, lab: Laboratory, row: Row) -> None:
        with lab.scene("--content", "video") as scene, scene.attack(row):
            before = scene.host.named("stats")[-1]["keyframes"]
            watchers = []
            for _ in range(3):
                peer = scene.peer()
                peer.join()
                watchers.append(Watcher(peer).__enter__())
            end = time.monotonic() + lab.seconds(6, 3)
            try:
                while time.monotonic() < end:
                    for watcher in watchers:
                        watcher.peer.say(watcher.media, wire.FEEDBACK, wire.keyframe_wish((watcher.newest or 1) + 1))
                    time.sleep(0.01)
            finally:
                for watcher in watchers:
                    watcher.__exit__()
            time.sleep(1.1)
            after = scene.host.named("stats")[-1]["keyframes"]
            row.words = f"{after - before} keyframes in {lab.seconds(6, 3)} s"


ATTACKS = [ThirdParty, MovedStream, Liar, SlowLiar, RhythmicLiar, ReturningLiar, KeyframeStorm]
