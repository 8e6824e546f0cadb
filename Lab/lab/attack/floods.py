"""Floods: traffic that costs the host more than the attacker."""

import contextlib
import os
import socket
import struct
import time

from lab.attack import wire
from lab.attack.laboratory import Apart, Attack, Laboratory, Row, Scene
from lab.attack.peer import Peer, Refused, Watcher, connect
from lab.attack.wire import Identity
from lab.common.states import CODE


class Forged(Attack):
    """An unknown peer sends the media port 20,000 datagrams a second that look sealed and aren't."""

    name = "forged-datagrams"

    def play(self, lab: Laboratory, row: Row) -> None:
        with lab.scene() as scene, scene.attack(row):
            with Apart(self.flood, scene.media_port, 20_000, lab.seconds(8, 4)) as attacker:
                row.words = f"{attacker.result()} datagrams"
        scene.memory_into(row)

    @staticmethod
    def flood(port: int, rate: int, seconds: float) -> int:
        begin, count = time.monotonic(), 0
        media = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        media.bind(("127.0.7.1", 0))
        while time.monotonic() < begin + seconds:
            for _ in range(rate // 200):
                # The numbers of the keys in use are small.
                header = struct.pack(">BBHQ", (wire.HELLO_DATAGRAM, wire.FEEDBACK)[count & 1], 0, count % 4, count)
                with contextlib.suppress(OSError):
                    media.sendto(header + bytes(64), ("127.0.0.1", port))
                count += 1
            time.sleep(max(0, begin + count / rate - time.monotonic()))
        return count


class Replayed(Attack):
    """Authentic feedback with a keyframe request is replayed 20,000 times a second, from another address."""

    name = "replayed-datagrams"

    def play(self, lab: Laboratory, row: Row) -> None:
        with lab.scene() as scene:
            peer = scene.peer()
            peer.join()
            with Watcher(peer) as watcher:
                time.sleep(0.5)
                with scene.attack(row):
                    before = scene.host.named("stats")[-1]["keyframes"]
                    replayed = peer.datagram(wire.FEEDBACK, wire.keyframe_wish(watcher.newest or 1))
                    hello = peer.datagram(wire.HELLO_DATAGRAM, struct.pack(">Q", 1))
                    with Apart(self.flood, scene.media_port, [replayed, hello], lab.seconds(6, 3)) as attacker:
                        sent, got = attacker.result()
                    time.sleep(1.1)
                    after = scene.host.named("stats")[-1]["keyframes"]
        row.words = f"{sent} datagrams; {after - before} keyframes were made, {got} bytes came to the other address"
        if got > 2 * len(replayed) * 3:
            row.came = "aimed"

    @staticmethod
    def flood(port: int, datagrams: list[bytes], seconds: float) -> tuple[int, int]:
        begin, count, got = time.monotonic(), 0, 0
        media = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        media.bind(("127.0.7.1", 0))
        media.setblocking(False)
        # Only the feedback: the hello was never sent, so the host would take it for a new one. That is another attack.
        media.sendto(datagrams[0], ("127.0.0.1", port))
        while time.monotonic() < begin + seconds:
            for _ in range(100):
                media.sendto(datagrams[0], ("127.0.0.1", port))
                count += 1
            try:
                while True:
                    got += len(media.recv(2048))
            except BlockingIOError:
                pass
            time.sleep(max(0, begin + count / 20_000 - time.monotonic()))
        return count, got


class Authentic(Attack):
    """An admitted viewer sends 10,000 authentic datagrams a second: hellos, and requests for all parts."""

    name = "authentic-datagrams"

    def play(self, lab: Laboratory, row: Row) -> None:
        with lab.scene() as scene, scene.attack(row):
            with Apart(self.flood, scene, lab.seconds(8, 4)) as attacker:
                sent, got = attacker.result()
            row.words = f"{sent} datagrams and {sent * 100 >> 20} MiB sent, {got >> 20} MiB received"
        scene.memory_into(row)

    @staticmethod
    def flood(scene: Scene, seconds: float) -> tuple[int, int]:
        with scene.peer() as peer:
            peer.join()
            with Watcher(peer) as watcher:
                begin, count = time.monotonic(), 0
                while time.monotonic() < begin + seconds:
                    for _ in range(100):
                        newest = watcher.newest or 1
                        if count % 2:
                            peer.say(watcher.media, wire.FEEDBACK, b"".join(
                                wire.missing(newest - back) for back in range(8)))
                        else:
                            peer.say_hello(watcher.media)
                        count += 1
                    time.sleep(max(0, begin + count / 10_000 - time.monotonic()))
                return count, watcher.bytes


class Handshakes(Attack):
    """Two processes make TLS handshakes with certificates from 8 addresses as fast as they can, and stay silent."""

    name = "handshake-flood"

    def play(self, lab: Laboratory, row: Row) -> None:
        identity = lab.identity()
        with lab.scene() as scene, scene.attack(row):
            seconds = lab.seconds(8, 4)
            with Apart(self.flood, scene.port, identity, seconds) as one, \
                    Apart(self.flood, scene.port, identity, seconds) as other:
                done, refused = (sum(counts) for counts in zip(one.result(), other.result()))
            row.words = f"{done} handshakes, {refused} refused"

    @staticmethod
    def flood(port: int, identity: Identity, seconds: float) -> tuple[int, int]:
        end, done, refused = time.monotonic() + seconds, 0, 0
        while time.monotonic() < end:
            try:
                Peer("127.0.0.1", port, identity, f"127.0.8.{1 + (done + refused) % 8}", 1).close()
                done += 1
            except (Refused, OSError):
                refused += 1
        return done, refused


class Churn(Attack):
    """An admitted device joins and leaves 100 times a second; each time needs a new media key, perhaps a keyframe."""

    name = "join-and-leave"

    def play(self, lab: Laboratory, row: Row) -> None:
        with lab.scene() as scene, scene.attack(row):
            before = scene.host.named("stats")[-1]["keyframes"]
            with Apart(self.flood, scene, lab.seconds(8, 4)) as attacker:
                count = attacker.result()
            time.sleep(1.1)
            after = scene.host.named("stats")[-1]["keyframes"]
            row.words = f"joined {count} times; {after - before} keyframes"
        scene.memory_into(row)

    @staticmethod
    def flood(scene: Scene, seconds: float) -> int:
        begin, count = time.monotonic(), 0
        while time.monotonic() < begin + seconds:
            try:
                with scene.peer() as peer:
                    peer.join(timeout=1)
                    media = peer.open_media()
                    peer.come_in(media)
                    peer.send(bytes([wire.BYE]) + wire.text(""))
                    media.close()
                    count += 1
            except (Refused, OSError):
                pass
            time.sleep(max(0, begin + count / 100 - time.monotonic()))
        return count


class SilentGuests(Attack):
    """Three guests a second join, each with a new key, prove their address, stay silent, and leave after a second."""

    name = "silent-guests"
    # The budget of all guests together is used up once, at the beginning.
    slow_seconds = 1

    def play(self, lab: Laboratory, row: Row) -> None:
        keys = [f"guest-{number}" for number in range(lab.seconds(30, 12))]
        for key in keys:
            lab.identity(key)
        with lab.scene() as scene, scene.attack(row):
            with Apart(self.flood, scene, keys) as attacker:
                count = attacker.result()
            row.words = f"{count} guests came, each with a key of its own"
        scene.memory_into(row)

    @staticmethod
    def flood(scene: Scene, keys: list[str]) -> int:
        begin, count, present = time.monotonic(), 0, []
        for number, key in enumerate(keys):
            time.sleep(max(0, begin + number / 3 - time.monotonic()))
            try:
                peer = scene.peer(identity=key)
                peer.join(timeout=1)
                present.append((peer, peer.open_media()))
                peer.come_in(present[-1][1])
                count += 1
            except (Refused, OSError):
                pass
            for peer, media in present[:-3]:
                peer.send(bytes([wire.BYE]) + wire.text(""))
                peer.close()
                media.close()
            present = present[-3:]
        return count


class SilentKeys(Attack):
    """An admitted device takes the stream with 20 instances and never confirms a new media key."""

    name = "unanswered-keys"

    def play(self, lab: Laboratory, row: Row) -> None:
        with lab.scene() as scene, scene.attack(row):
            joined = 0
            for _ in range(20):
                try:
                    scene.peer().join(timeout=2)
                    joined += 1
                except (Refused, OSError):
                    break
            end = time.monotonic() + lab.seconds(5, 2)
            while time.monotonic() < end:
                try:
                    with scene.peer() as peer:
                        peer.join(timeout=1)
                        peer.send(bytes([wire.BYE]) + wire.text(""))
                except (Refused, OSError):
                    pass
                time.sleep(0.2)
            row.words = f"{joined} instances"


class LongLines(Attack):
    """Version 1 connections from 4 addresses send lines without an end, and random bytes."""

    name = "long-lines"

    def play(self, lab: Laboratory, row: Row) -> None:
        with lab.scene("--allow-unencrypted") as scene, scene.attack(row):
            with Apart(self.flood, scene.port, lab.seconds(6, 3)) as attacker:
                row.words = f"{attacker.result()} connections"
        scene.memory_into(row)

    @staticmethod
    def flood(port: int, seconds: float) -> int:
        end, count = time.monotonic() + seconds, 0
        bodies = [b"{" * 100_000, b'{"app":"' + b"x" * 4000 + b'"}\n' * 30, os.urandom(50_000), b"\n" * 50_000,
                  b'{"hb":1}\n' * 10_000, b"[" * 4000 + b"\n"]
        while time.monotonic() < end:
            try:
                with connect("127.0.0.1", port, f"127.0.9.{1 + count % 4}", 1) as line:
                    line.sendall(bodies[count % len(bodies)])
            except OSError:
                pass
            count += 1
            time.sleep(0.01)
        return count


class GuessedCodes(Attack):
    """16 connections at a time try wrong codes as fast as the host allows."""

    name = "parallel-codes"

    def play(self, lab: Laboratory, row: Row) -> None:
        with lab.scene("--code", CODE) as scene, scene.attack(row):
            with Apart(self.flood, scene, lab.seconds(8, 4)) as attacker:
                begun, checked, waits = attacker.result()
            row.words = f"{begun} tries, {checked} looked at, {waits} told to wait"
            # Five tries are free; the next are allowed after 1, 2, 4 … s.
            if checked > 5 + 4:
                row.came = "in"

    @staticmethod
    def flood(scene: Scene, seconds: float) -> tuple[int, int, int]:
        # A valid element of ristretto255: the generator (RFC 9496, 4).
        share = bytes.fromhex("e2f2ae0a6abc4e71a884a961c500515f58e30b6aa582dd8db6a65945e08d2d76")
        begun = checked = waits = 0
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            peers = []
            for index in range(16):
                try:
                    peer = scene.peer(f"127.0.11.{1 + index}", timeout=1)
                    peer.greet("guesser")
                    peers.append(peer)
                except (Refused, OSError):
                    continue
            for peer in peers:
                try:
                    peer.send(bytes([wire.CODE_SHARE]) + share)
                    begun += 1
                except Refused:
                    continue
            # All have the host's share before the first one sends its proof.
            proving = []
            for peer in peers:
                try:
                    message = peer.wait_for(wire.CODE_SHARE, wire.CODE_WAIT, timeout=1)
                    waits += message is not None and message[0] == wire.CODE_WAIT
                    if message is not None and message[0] == wire.CODE_SHARE:
                        proving.append(peer)
                except Refused:
                    continue
            for peer in proving:
                try:
                    peer.send(bytes([wire.CODE_CONFIRM]) + bytes(64))
                except Refused:
                    continue
            for peer in proving:
                try:
                    waits += peer.wait_for(wire.CODE_WAIT, timeout=1) is not None
                except Refused as refused:
                    checked += "isn't the code" in f"{refused}"
            for peer in peers:
                peer.close()
            time.sleep(0.05)
        return begun, checked, waits


ATTACKS = [Forged, Replayed, Authentic, Handshakes, Churn, SilentGuests, SilentKeys, LongLines, GuessedCodes]
