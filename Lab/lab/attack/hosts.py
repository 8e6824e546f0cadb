"""False hosts that make a viewer work, come back or talk without end."""

import json
import random
import socket
import struct
import threading
import time
import uuid
from typing import Any

from lab.attack import h264, wire
from lab.attack.falsehost import Body, Connection, FalseHost
from lab.attack.h264 import Picture
from lab.attack.laboratory import Laboratory, Row
from lab.attack.peer import clock
from lab.attack.values import MOST_PROCESSOR, AttackOnViewer
from lab.common.programs import Program


class LeapingKeyframes(AttackOnViewer):
    """A host's keyframes skip numbers and lack parts, so that the viewer has more and more to request."""

    name = "leaping-keyframes"

    def play(self, lab: Laboratory, row: Row) -> None:
        frames = h264.small()
        shares = []

        def body(host: FalseHost, connection: Connection) -> None:
            host.greet(connection)
            host.admit(connection)
            number = 1
            begin = time.monotonic()
            while not host.is_over.is_set():
                host.answer(connection, 0)
                while number < 1500 * (time.monotonic() - begin):
                    # The first and the last of three parts: no keyframe is ever complete, and each is requested.
                    parts = wire.cut(1000 * number, frames[0], clock())
                    host.datagram(wire.MEDIA, parts[0].bytes)
                    host.datagram(wire.MEDIA, parts[-1].bytes)
                    number += 1
                time.sleep(0.01)

        def until(viewer: Program) -> bool:
            shares.append((time.monotonic(), viewer.processor()))
            return False

        self.against(lab, row, body, seconds=lab.seconds(20, 8), until=until)
        first, last = self.share(shares, 0.1, 0.3), self.share(shares, 0.8, 1)
        row.words = (row.words or "the viewer lives") + f"; {first:.0%} of a core at first, {last:.0%} at the end"
        if last > 1.5 * first and last > 0.2:
            row.came = "costs more and more"

    @staticmethod
    def share(shares: list[tuple[float, float]], begin: float, end: float) -> float:
        part = shares[int(len(shares) * begin):max(int(len(shares) * end), int(len(shares) * begin) + 2)]
        return (part[-1][1] - part[0][1]) / max(0.1, part[-1][0] - part[0][0])


class LastParts(AttackOnViewer):
    """1,700 version 1 datagrams a second hold the last part of the largest frame; the viewer allows version 1."""

    name = "version-1-last-part"
    viewer_words = ("--allow-unencrypted",)

    def play(self, lab: Laboratory, row: Row) -> None:
        is_over = threading.Event()
        media = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        media.bind(("127.0.0.1", 0))
        listener = socket.create_server(("127.0.0.1", 0))
        frames = h264.small(60)
        sent = [0]

        def serve() -> None:
            while not is_over.is_set():
                try:
                    connection, _ = listener.accept()
                    connection.settimeout(3)
                    if not connection.recv(4096).startswith(b"{"):
                        connection.close()
                        continue
                    reply = {"ok": True, "sessionID": str(uuid.uuid4()).upper(),
                             "udpPort": media.getsockname()[1], "message": None}
                    connection.sendall(json.dumps(reply).encode() + b"\n" + b'{"on":true}\n')
                    media.settimeout(3)
                    viewer = media.recvfrom(100)[1]
                    self.stream(media, viewer, frames, lab.seconds(10, 4), sent)
                    connection.close()
                except OSError:
                    continue

        threading.Thread(target=serve, daemon=True).start()
        viewer = Program([lab.program, "watch", f"127.0.0.1:{listener.getsockname()[1]}", "--no-window", "--json",
                          "--time-limit", "60", *self.viewer_words], lab.state())
        try:
            with viewer:
                if not viewer.wait_for("first-frame", 15):
                    row.words, row.came = f"the viewer sees nothing: {viewer.error_text.strip()}", "unclear"
                    return
                time.sleep(1.5)
                begin, used = time.monotonic(), viewer.processor()
                time.sleep(lab.seconds(7, 3))
                row.viewer_processor = (viewer.processor() - used) / (time.monotonic() - begin)
                row.viewer_megabytes = viewer.peak
                row.words = f"{sent[0]} such datagrams, {row.viewer_processor:.0%} of a core"
                if viewer.fate:
                    row.came, row.words = "down", f"the viewer ended by {viewer.fate}"
                elif row.viewer_processor > MOST_PROCESSOR:
                    row.came = "costs too much"
        finally:
            is_over.set()
            listener.close()
            media.close()

    @staticmethod
    def stream(media: socket.socket, viewer: Any, frames: list[Picture], seconds: float, sent: list[int]) -> None:
        """A second of small pictures, and then the costly datagrams."""
        begin = time.monotonic()

        def datagram(frame: int, part: int, count: int, flags: int, config: int, payload: bytes) -> bytes:
            return struct.pack(">4sIHHHHHH", b"BMRV", frame, part, count, flags, 320, 240, config) + payload

        for number, picture in enumerate(frames[:30]):
            whole = picture.config + picture.data
            pieces = [whole[start:start + 1180] for start in range(0, len(whole), 1180)]
            for part, piece in enumerate(pieces):
                media.sendto(datagram(number + 1, part, len(pieces), 3 if picture.config else 0,
                                      len(picture.config) if part == 0 else 0, piece), viewer)
            time.sleep(1 / 30)
        most = (8 << 20) // 1180
        begin = time.monotonic()
        while time.monotonic() < begin + seconds:
            while sent[0] < 1700 * (time.monotonic() - begin):
                # Each belongs to another frame, newer than all before.
                media.sendto(datagram(100 + sent[0], most - 1, most, 0, 0, bytes(1000)), viewer)
                sent[0] += 1
            time.sleep(0.005)


class EventStorm(AttackOnViewer):
    """A host announces a million times that its port changes and that sharing starts and stops."""

    name = "announcements"

    def play(self, lab: Laboratory, row: Row) -> None:
        sent = [0]
        generator = random.Random(1)

        def body(host: FalseHost, connection: Connection) -> None:
            host.greet(connection)
            host.admit(connection)
            while sent[0] < 1_000_000:
                batch = b"".join(
                    wire.framed(bytes([wire.BROADCAST, index & 1]))
                    + wire.framed(struct.pack(">BH", wire.MEDIA_PORT, generator.randint(1, 65535)))
                    for index in range(500))
                connection.send_raw(batch, timeout=3)
                sent[0] += 1000

        viewer, host = self.against(lab, row, body, seconds=lab.seconds(12, 6),
                                    until=lambda viewer: sent[0] >= 1_000_000)
        lines = len(viewer.error_text.splitlines())
        row.words = (row.words or "the viewer lives") + (
            f"; {sent[0]} messages in {host.connections} connections, {lines} lines for the person, "
            f"{row.viewer_processor:.0%} of a core")
        if lines > 200 and row.came == "nothing":
            row.came = "floods the person"


class LongestWait(AttackOnViewer):
    """A host answers a code with “try again in 49 days”, another host with “now”."""

    name = "code-wait"

    def play(self, lab: Laboratory, row: Row) -> None:
        said = []

        def body(wait: int) -> Body:
            def serve(host: FalseHost, connection: Connection) -> None:
                host.greet(connection)
                message = connection.wait_for(wire.CODE_SHARE)
                if message is not None:
                    said.append(wait)
                    connection.send(struct.pack(">BI", wire.CODE_WAIT, wait))
                    time.sleep(0.5)
            return serve

        counts = []
        self.viewer_words = ("--code", "482913")
        for wait in (2 ** 32 - 1, 0):
            _, host = self.against(lab, row, body(wait), methods=wire.BY_CODE, seconds=lab.seconds(5, 3))
            counts.append(host.connections)
            if row.came != "nothing":
                return
        row.words = f"the viewer came {counts[0]} and {counts[1]} times in {lab.seconds(5, 3)} s"
        if counts[1] > 100:
            row.came = "spins"


class LeavingHost(AttackOnViewer):
    """A host ends the session at once whenever the viewer connects."""

    name = "bye-storm"

    def play(self, lab: Laboratory, row: Row) -> None:
        def body(host: FalseHost, connection: Connection) -> None:
            host.greet(connection)
            connection.send(bytes([wire.BYE]) + wire.text("x" * 200))
            time.sleep(0.05)

        viewer, host = self.against(lab, row, body, seconds=lab.seconds(6, 3))
        lines = len(viewer.error_text.splitlines())
        row.words = (row.words or "the viewer lives") + f"; it came {host.connections} times and said {lines} lines"
        if host.connections > 200:
            row.came = "spins"


ATTACKS = [LeapingKeyframes, LastParts, EventStorm, LongestWait, LeavingHost]
