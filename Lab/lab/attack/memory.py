"""Attacks on memory: what a peer can make the other side keep must be bounded."""

import struct
import time

from lab.attack import h264, wire
from lab.attack.falsehost import Connection, FalseHost
from lab.attack.laboratory import Apart, Attack, Laboratory, Row, Scene
from lab.attack.peer import Refused
from lab.attack.values import MOST_PROCESSOR, AttackOnViewer


class Pings(AttackOnViewer):
    """A host sends 1.5 million pings and reads nothing."""

    name = "pings"
    short = True
    count = 1_500_000

    def play(self, lab: Laboratory, row: Row) -> None:
        sent = [0]

        def body(host: FalseHost, connection: Connection) -> None:
            host.greet(connection)
            host.admit(connection)
            batch = wire.framed(struct.pack(">BQ", wire.PING, 1)) * 5000
            while sent[0] < self.count:
                connection.send_raw(batch, timeout=3)
                sent[0] += 5000
            time.sleep(2)

        _, host = self.against(lab, row, body, seconds=lab.seconds(20, 8),
                               until=lambda viewer: sent[0] >= self.count or viewer.peak > 1000)
        row.words = (row.words or "the viewer lives") + f"; {sent[0]} pings in {host.connections} connections"


class UnreadAnswers(Attack):
    """An admitted viewer sends a million pings and reads nothing."""

    name = "pings-host"

    def play(self, lab: Laboratory, row: Row) -> None:
        with lab.scene() as scene, scene.attack(row):
            with Apart(self.flood, scene, lab.seconds(8, 4)) as flood:
                sent = flood.result()
            row.words = f"{sent} pings"
        scene.memory_into(row)

    @staticmethod
    def flood(scene: Scene, seconds: float) -> int:
        sent, end = 0, time.monotonic() + seconds
        batch = wire.framed(struct.pack(">BQ", wire.PING, 1)) * 2000
        while time.monotonic() < end and sent < 1_000_000:
            try:
                with scene.peer() as peer:
                    peer.join()
                    peer.socket.settimeout(2)
                    while time.monotonic() < end:
                        peer.socket.sendall(batch)
                        sent += 2000
            except (Refused, OSError):
                time.sleep(0.05)
        return sent


class UnfinishedMessages(Attack):
    """An admitted device begins a message of 10 MiB on every connection that it gets, and completes none."""

    name = "unfinished-messages"
    short = True

    def play(self, lab: Laboratory, row: Row) -> None:
        with lab.scene() as scene, scene.attack(row):
            with Apart(self.fill, scene, 30 if lab.short else 60) as attacker:
                joined, sent = attacker.result()
            time.sleep(0.5)
            row.words = f"{joined} connections let in, {sent >> 20} MiB sent"
        scene.memory_into(row)

    @staticmethod
    def fill(scene: Scene, most: int) -> tuple[int, int]:
        peers, sent, end = [], 0, time.monotonic() + 15
        for _ in range(most):
            try:
                peer = scene.peer()
                peer.join()
                peers.append(peer)
            except (Refused, OSError):
                break
        block = bytes(1 << 16)
        for peer in peers:
            try:
                peer.socket.sendall(struct.pack(">I", 10 << 20))
                for _ in range((10 << 4) - 1):
                    peer.socket.sendall(block)
                    sent += len(block)
                    if time.monotonic() > end:
                        return len(peers), sent
            except (Refused, OSError):
                continue
        time.sleep(1)
        return len(peers), sent


class BigPicture(AttackOnViewer):
    """A host sends 105 kB of H.264 at 8192 × 4352 that refer to 16 pictures."""

    name = "big-picture"

    def play(self, lab: Laboratory, row: Row) -> None:
        pictures = h264.large()
        size = sum(len(picture.config) + len(picture.data) for picture in pictures)

        def body(host: FalseHost, connection: Connection) -> None:
            host.greet(connection)
            host.admit(connection)
            for number, picture in enumerate(pictures):
                host.answer(connection, 0.1)
                host.show(number + 1, picture)
            for _ in range(60):
                host.answer(connection, 0.1)

        viewer, _ = self.against(lab, row, body, seconds=lab.seconds(10), until=lambda viewer: viewer.peak > 1000)
        first = viewer.named("first-frame")
        row.words = (row.words or "the viewer lives") + (
            f"; {size // 1000} kB sent, {'decoded' if first else 'not decoded'}")
        if "not decoded" in row.words and viewer.error_text.strip():
            row.words += f": “{viewer.error_text.strip().splitlines()[-1]}”"


class FillingFrames(AttackOnViewer):
    """A host begins frames of the largest size, and completes none."""

    name = "unfinished-frames"

    def play(self, lab: Laboratory, row: Row) -> None:
        sent = [0]

        def body(host: FalseHost, connection: Connection) -> None:
            host.greet(connection)
            host.admit(connection)
            frame = 1
            while not host.is_over.is_set():
                host.answer(connection, 0)
                # The first and the last part of each.
                for part in (0, 7300):
                    content = wire.Part(frame, part, 7333, 1, 0, 640, 360, 0, 1, bytes(wire.PART))
                    host.datagram(wire.MEDIA, content.bytes)
                    sent[0] += 1
                frame += 1
                time.sleep(0.001)

        self.against(lab, row, body, seconds=lab.seconds(8, 4))
        row.words = row.words or f"the viewer lives, {row.viewer_processor:.0%} of a core; {sent[0]} datagrams"
        if row.came == "nothing" and row.viewer_processor > MOST_PROCESSOR:
            row.came = "costs too much"


ATTACKS = [Pings, UnreadAnswers, UnfinishedMessages, BigPicture, FillingFrames]
