"""Values at the ends of their range, from admitted peers: no program may end because of them."""

import random
import struct
import time
from collections.abc import Callable, Iterator
from typing import Any

from lab.attack import h264, wire
from lab.attack.falsehost import Body, Connection, FalseHost
from lab.attack.laboratory import Attack, Laboratory, Row, Scene
from lab.attack.peer import Peer, Refused, Report, Watcher, clock
from lab.attack.wire import Arrival
from lab.common.programs import Program

EXTREMES = [0, 1, 2, 127, 128, 255, 256, 2 ** 15, 2 ** 16 - 1, 2 ** 31 - 1, 2 ** 31, 2 ** 32 - 1, 2 ** 53, 2 ** 62,
            wire.LAST_MICROSECOND - 1, wire.LAST_MICROSECOND, wire.LAST_MICROSECOND + 1, 2 ** 63 - 1, 2 ** 63,
            2 ** 64 - 1]


# Share of a core for 1,000 to 2,000 datagrams a second from a host; 60 frames of an honest one take 5 %.
MOST_PROCESSOR = 0.25


def extreme(generator: random.Random, bits: int) -> int:
    """A value of that many bits that is likely to find an error."""
    choice = generator.random()
    if choice < 0.6:
        return generator.choice(EXTREMES) & (2 ** bits - 1)
    if choice < 0.8:
        return (generator.choice(EXTREMES) + generator.randint(-3, 3)) & (2 ** bits - 1)
    return generator.getrandbits(bits)


def fields(generator: random.Random, widths: list[int]) -> bytes:
    return b"".join(extreme(generator, 8 * width).to_bytes(width, "big") for width in widths)


class ClocksAgainstHost(Attack):
    """An admitted viewer reports with three clocks: near 0 with the largest ages, 0.12 s later, and the maximum."""

    name = "extreme-clocks-host"
    short = True
    slow_seconds = 2

    def play(self, lab: Laboratory, row: Row) -> None:
        with lab.scene() as scene, scene.attack(row):
            for last in (wire.LAST_MICROSECOND, 2 ** 64 - 1, wire.LAST_MICROSECOND // 2):
                with scene.peer() as peer:
                    peer.join()
                    self.report(peer, last)
                if scene.host.fate:
                    break
        scene.memory_into(row)
        row.words = row.words or "the host lives"

    def report(self, peer: Peer, last: int) -> None:
        """A queue of 0.12 s that drains, and then a delay of 292 years, which the estimate takes for the path's own."""
        begin = time.monotonic()
        told = []

        def lie(_: object, entries: list[Arrival], expected: int, missed: int) -> Report | None:
            passed = time.monotonic() - begin
            if passed > 0.65:
                # All at the same time, so that no rate can be derived.
                entries = [(frame, received, highest, 0, 0) for frame, received, highest, _, _ in entries]
                return entries, expected, missed, last
            if passed > 0.4:
                if told or not entries:
                    return None
                told.append(True)
            aged = [(frame, received, highest, 2 ** 32 - 1, 2 ** 32 - 1) for frame, received, highest, _, _ in entries]
            return aged, expected, missed, int(1e6 * (passed + (0.12 if told else 0)))

        with Watcher(peer, lie=lie) as watcher:
            watcher.thread.join(1.6)


class StormAgainstHost(Attack):
    """An admitted viewer sends authentic datagrams and messages with extreme values in every field."""

    name = "extreme-values-host"
    # Each session sends false reports, which the host detects within a second.
    slow_seconds = 2

    def play(self, lab: Laboratory, row: Row) -> None:
        generator = random.Random(12)
        count = 0
        with lab.scene() as scene, scene.attack(row):
            end = time.monotonic() + lab.seconds(10, 4)
            while time.monotonic() < end and not scene.host.fate:
                try:
                    count += self.once(scene, generator)
                except (Refused, OSError):
                    continue
            row.words = f"{count} datagrams and messages"
            time.sleep(0.5)
        scene.memory_into(row)

    def once(self, scene: Scene, generator: random.Random) -> int:
        """One session, until the host ends it."""
        with scene.peer() as peer:
            peer.join(instance=extreme(generator, 64), features=extreme(generator, 32))
            count = 0
            with Watcher(peer, lie=lambda *_: None) as watcher:
                peer.say_hello(watcher.media)
                time.sleep(0.1)
                for _ in range(150):
                    newest = watcher.newest or 1
                    items = b"".join(self.item(generator, newest) for _ in range(generator.randint(1, 4)))
                    kind = wire.FEEDBACK if generator.random() < 0.9 else wire.HELLO_DATAGRAM
                    peer.say(watcher.media, kind, items if kind == wire.FEEDBACK else fields(generator, [8]))
                    count += 1
                    time.sleep(0.003)
            for _ in range(20):
                kind = generator.choice([wire.HELLO, wire.JOIN, wire.CODE_SHARE, wire.CODE_CONFIRM, wire.COMPARE_COMMIT,
                                         wire.COMPARE_REVEAL, wire.MEDIA_KEY_READY, wire.PING, wire.PONG,
                                         wire.MEDIA_KEY, wire.MEDIA_PORT, wire.SESSION,
                                         wire.SOUND_WANTED])
                peer.send(bytes([kind]) + fields(generator, [8] * generator.randint(0, 12)))
                count += 1
            return count

    def item(self, generator: random.Random, newest: int) -> bytes:
        def frame() -> int:
            return (newest + generator.choice([0, 0, 0, -1, 1, 64, -64, 2 ** 31])) & 0xFFFFFFFF

        kind = generator.choice([1, 2, 3, 4, 6])
        layer = bytes([generator.choice([0, 0, 0, 1, 255])])
        if kind == 1:
            return wire.item(1, frame().to_bytes(4, "big") + layer)
        if kind == 2:
            ranges = fields(generator, [2, 2] * generator.randint(0, 12))
            return wire.item(2, frame().to_bytes(4, "big") + layer + ranges)
        if kind == 3:
            again = frame().to_bytes(4, "big") + fields(generator, [2]) if generator.random() < 0.3 else b""
            return wire.item(3, fields(generator, [8, 4, 4]) + layer + again)
        if kind == 6:
            return wire.item(6, fields(generator, [4] * generator.randint(0, 12)))
        return wire.item(4, b"".join(frame().to_bytes(4, "big") + fields(generator, [2, 2, 4, 4])
                                     for _ in range(generator.randint(1, 15))))


class AttackOnViewer(Attack):
    """Base of the attacks of a false host on a viewer."""

    judges_pictures = False
    viewer_words: tuple[str, ...] = ()
    # Whether it has a window or not, as options.
    window_words: tuple[str, ...] = ("--no-window",)

    def against(self, lab: Laboratory, row: Row, body: Body, methods: int = wire.OPEN, seconds: float = 10,
                name: str = "desk", until: Callable[[Program], object] | None = None, features: int = 0,
                **how: Any) -> tuple[Program, FalseHost]:
        """Runs a viewer against `body`; returns the viewer's process, which has ended, and the false host."""
        with FalseHost(lab.identity("false-host"), body, name, methods) as host:
            host.features = features
            viewer = Program([lab.program, "watch", f"127.0.0.1:{host.port}", "--json", "--time-limit", "120",
                              *self.window_words, *self.viewer_words], lab.state(), **how)
            used = 0.0
            with viewer:
                begin = time.monotonic()
                while time.monotonic() < begin + seconds and not viewer.fate and not (until and until(viewer)):
                    time.sleep(0.05)
                used = viewer.processor()
            row.viewer_processor = used / max(0.1, time.monotonic() - begin)
            row.viewer_megabytes = viewer.peak
            if viewer.fate:
                memory = viewer.peak > 1000
                row.came, row.words = ("memory" if memory else "down"), f"the viewer ended by {viewer.fate}"
        return viewer, host


class ClocksAgainstViewer(AttackOnViewer):
    """A host answers pings with clocks, and sends frames with times, at both ends of their range."""

    name = "extreme-clocks-viewer"
    short = True
    combinations = [(wire.LAST_MICROSECOND, 1), (0, wire.LAST_MICROSECOND), (2 ** 64 - 1, 1), (1, 2 ** 64 - 1)]

    def play(self, lab: Laboratory, row: Row) -> None:
        frames = h264.small()
        seen = 0
        for pong, time_ in self.combinations[:2] if lab.short else self.combinations:
            def body(host: FalseHost, connection: Connection) -> None:
                host.greet(connection)
                host.admit(connection)
                for number, picture in enumerate(frames):
                    host.answer(connection, 0.02, pong)
                    host.show(number + 1, picture, time_)

            viewer, _ = self.against(lab, row, body, seconds=2)
            seen += bool(viewer.named("first-frame"))
            if row.came != "nothing":
                row.words += f", pong {pong}, frame time {time_}"
                return
        row.words = f"the viewer lives, and showed the pictures of {seen} hosts"


class StormAgainstViewer(AttackOnViewer):
    """A host sends authentic datagrams and messages with extreme values in every field."""

    name = "extreme-values-viewer"

    def play(self, lab: Laboratory, row: Row) -> None:
        frames = h264.small()
        generator = random.Random(12)
        sent = [0]

        def body(host: FalseHost, connection: Connection) -> None:
            host.greet(connection)
            host.admit(connection)
            for number in range(300):
                host.answer(connection, pong=extreme(generator, 64))
                host.show(number + 1, frames[number % len(frames)], extreme(generator, 64))
                for _ in range(10):
                    host.datagram(*self.datagram(generator, number))
                    sent[0] += 1
                connection.send(self.message(generator, host))
                time.sleep(0.004)

        _, host = self.against(lab, row, body, seconds=lab.seconds(15, 6))
        row.words = (row.words or "the viewer lives") + f"; {sent[0]} datagrams in {host.connections} connections"

    def datagram(self, generator: random.Random, newest: int) -> tuple[int, bytes]:
        kind = generator.choice([wire.MEDIA, wire.PARITY, wire.STATE])
        if kind == wire.STATE:
            return kind, b"".join(wire.item(generator.randint(1, 3), fields(generator, [4, 4, 1]))
                                  for _ in range(generator.randint(1, 3)))
        near = (newest + generator.choice([0, 1, 2, 64, -1, 2 ** 31, 2 ** 20])) & 0xFFFFFFFF
        parts = generator.choice([1, 2, 128, 129, 7000, 7333, 65535])
        header = struct.pack(">IHHBBHHHQHH", near, generator.choice([0, 1, parts - 1, 63, 65535]), parts,
                             generator.choice([0, 1, 3, 4, 7, 255]), generator.choice([0, 0, 1, 255]),
                             extreme(generator, 16), extreme(generator, 16), extreme(generator, 16),
                             extreme(generator, 64), extreme(generator, 16), extreme(generator, 16))
        return kind, header + bytes(wire.PART if kind == wire.PARITY else generator.choice([0, 1, 100, wire.PART]))

    def message(self, generator: random.Random, host: FalseHost) -> bytes:
        kind = generator.choice([wire.PONG, wire.BROADCAST, wire.MEDIA_KEY, wire.PING, 0x7F, wire.PAIRED])
        if kind == wire.BROADCAST:
            return bytes([kind, generator.randint(0, 1)])
        if kind == wire.MEDIA_KEY:
            return bytes([kind]) + (wire.Key.new(extreme(generator, 16)).packed)
        return bytes([kind]) + fields(generator, [8, 8, 8])


class SoundAgainstViewer(AttackOnViewer):
    """A host sends authentic sound, half of it at its pace and half of it with extreme values, to a viewer that plays it
    and writes it to a file. The file must not grow much faster than time passes: as much sound, and as much silence."""

    name = "extreme-sound-viewer"
    # Bytes a second of a WAV file at 48 kHz, and what may be written at once.
    pace, most_ahead = 192000, 14 * 192000

    def play(self, lab: Laboratory, row: Row) -> None:
        frames = h264.small()
        generator = random.Random(14)
        sent = [0]
        file = lab.state() / "sound.wav"
        file.parent.mkdir(parents=True, exist_ok=True)
        self.viewer_words = ("--audio-output", "default", "--sound", str(file))

        def body(host: FalseHost, connection: Connection) -> None:
            host.greet(connection)
            host.admit(connection)
            key, counter = host.media_key.for_sound, 0
            for number in range(1200):
                host.answer(connection)
                if number % 20 == 0:
                    host.show(number // 20 + 1, frames[number // 20 % len(frames)])
                for plaintext in self.packets(generator, number):
                    host.send(key.seal(wire.SOUND, counter, plaintext))
                    counter += 1
                    sent[0] += 1
                time.sleep(0.004)

        begin = time.monotonic()
        viewer, host = self.against(lab, row, body, seconds=lab.seconds(15, 6), features=wire.SOUND_FEATURE,
                                    environment={"SDL_AUDIODRIVER": "dummy"})
        played = sum(event.get("sound", {}).get("played", 0) for event in viewer.named("summary"))
        size = file.stat().st_size if file.exists() else 0
        most = 2.1 * self.pace * (time.monotonic() - begin) + self.most_ahead
        if row.came == "nothing" and size > most:
            row.came, row.words = "wrong", f"the sound file has {size} bytes, more than {most:.0f}"
        row.words = (row.words or "the viewer lives") + (
            f"; {sent[0]} datagrams in {host.connections} connections, {played} packets played, {size // 1000} kB written")

    def packets(self, generator: random.Random, number: int) -> Iterator[bytes]:
        """Each of an honest one's number and time, or what comes of chance."""
        honest = struct.pack(">IQ", number, clock()) + struct.pack(">BH", 0, 160) + generator.randbytes(160)
        yield honest
        near = (number + generator.choice([0, 1, -1, 7, 64, 2 ** 20, 2 ** 31, -2 ** 31])) & 0xFFFFFFFF
        head = struct.pack(">IQ", generator.choice([near, extreme(generator, 32)]),
                           generator.choice([clock(), extreme(generator, 64)]))
        for _ in range(generator.randint(0, 9)):
            length = generator.choice([0, 1, 160, 1275, 1276, 65535])
            head += struct.pack(">BH", generator.choice([0, 1, 2, 4, 8, 15, 255]), length)
            head += generator.randbytes(min(length, generator.choice([0, 160, 1275])))
        yield head[:1400]
        # Eight short packets, of which each is 10 ms, as if 5 s had passed or a host had begun anew.
        yield struct.pack(">IQ", (8 * number + 2 ** 24) & 0xFFFFFFFF, clock() + 5000000 * (number % 2)) + 8 * (
            struct.pack(">BH", 0, 1) + b"\xe4")


ATTACKS = [ClocksAgainstHost, StormAgainstHost, ClocksAgainstViewer, StormAgainstViewer,
           SoundAgainstViewer]
