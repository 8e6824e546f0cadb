"""Attacks on places: the attacker takes connections, questions and sessions until nobody else gets one."""

import collections
import contextlib
import os
import socket
import time

from lab.attack import wire
from lab.attack.laboratory import Apart, Attack, Laboratory, NotPlayed, Row, Scene
from lab.attack.peer import Peer, Refused, connect
from lab.common.programs import Terminal
from lab.common.states import CODE

# The longest time to an honest viewer's first picture during an attack, in seconds.
MOST_WAITING = 3
# How long to wait whether an honest viewer's question is refused, in seconds.
MOST_QUESTION_WAIT = 6


def first_picture(lab: Laboratory, scene: Scene, row: Row, *words: str, known: bool = True, patience: float = 20) -> str:
    """The time to another honest viewer's first picture, in words; sets the row's result if it is too long."""
    begin = time.monotonic()
    viewer = lab.watch(lab.state("viewer" if known else None), scene.port, *words, address=scene.address)
    with viewer:
        found = viewer.wait_for("first-frame", patience)
    took = time.monotonic() - begin
    if not found:
        row.came = "kept out"
        return f"an honest viewer got in for {patience} s not at all"
    if took > MOST_WAITING and not lab.short:
        row.came = "kept out"
    return f"an honest viewer had its first picture after {took:.1f} s"


def connections(scene: Scene, count: int, network: int, timeout: float) -> list[socket.socket]:
    """Opens so many TCP connections from 20 addresses; returns those that were taken."""
    held = []
    for index in range(count):
        with contextlib.suppress(OSError):
            held.append(connect("127.0.0.1", scene.port, f"127.0.{network + index % 20}.1", timeout))
    return held


class IdleConnections(Attack):
    """From 5 addresses, 80 TLS connections are opened that send nothing."""

    name = "idle-connections"
    short = True
    bind = "127.0.0.1"

    def play(self, lab: Laboratory, row: Row) -> None:
        with lab.scene(bind=self.bind) as scene:
            with scene.attack(row):
                held = self.hold(scene)
                row.words = f"{held} were open; {first_picture(lab, scene, row, patience=lab.seconds(20, 8))}"

    def hold(self, scene: Scene) -> int:
        held, end = 0, time.monotonic() + 10
        for index in range(80):
            if time.monotonic() > end:
                break
            try:
                scene.peer(self.source(index), timeout=1)
                held += 1
            except (Refused, OSError):
                continue
        return held

    def source(self, index: int) -> str:
        return f"127.0.{10 + index % 5}.1"


class IdleConnections6(IdleConnections):
    """The same from 64 IPv6 addresses of one network's prefix."""

    name = "idle-connections-ipv6"
    short = False
    bind = "fd77:1::1"

    def play(self, lab: Laboratory, row: Row) -> None:
        if not lab.has_own_network:
            raise NotPlayed("needs a network of its own, as root makes one")
        super().play(lab, row)

    def source(self, index: int) -> str:
        return f"fd77:2::{index % 64 + 1:x}"


class ConnectFlood(Attack):
    """One address opens and closes 300 TCP connections a second, while a known viewer connects."""

    name = "connect-flood-300"
    rate = 300

    def play(self, lab: Laboratory, row: Row) -> None:
        with lab.scene() as scene, scene.attack(row):
            with Apart(self.flood, scene.port, self.rate, lab.seconds(40, 12)) as attacker:
                time.sleep(2)
                # Three times, because one may succeed by chance.
                took = [first_picture(lab, scene, row, patience=lab.seconds(15, 6))]
                while len(took) < 3 and row.came == "nothing":
                    took.append(first_picture(lab, scene, row, patience=lab.seconds(15, 6)))
                row.words = took[-1] + f", the {len(took)}. of 3"
                attacker.end()

    @staticmethod
    def flood(port: int, rate: float, seconds: float) -> int:
        begin = time.monotonic()
        count = 0
        # Kept open for a second and a half at this end: a host must not wait until the other side has closed.
        held = collections.deque()
        while time.monotonic() < begin + seconds:
            with contextlib.suppress(OSError):
                held.append(connect("127.0.0.1", port, "127.0.20.1", 1))
            if len(held) > min(800, 1.5 * rate):
                held.popleft().close()
            count += 1
            time.sleep(max(0, begin + count / rate - time.monotonic()))
        return count


class ConnectFlood1000(ConnectFlood):
    """One address opens and closes 1,000 TCP connections a second, while a known viewer connects."""

    name = "connect-flood-1000"
    rate = 1000


class Questions(Attack):
    """Three addresses ask the person three questions each, without an answer; then an honest viewer asks to compare."""

    name = "questions"

    def play(self, lab: Laboratory, row: Row) -> None:
        terminal = Terminal()
        try:
            # No honest viewer watches: only the host and its terminal matter.
            with lab.scene(accept="ask", stderr=terminal.slave, stdin=terminal.slave) as scene, scene.attack(row):
                asked = 0
                for index in range(9):
                    peer = scene.peer(f"127.0.{30 + index % 3}.1", identity=f"asker-{index}")
                    asked += ask(peer)
                time.sleep(0.5)
                with lab.watch(lab.state(), scene.port) as viewer:
                    refused = viewer.wait(lambda: viewer.named("retry") or viewer.named("refused"),
                                          MOST_QUESTION_WAIT)
                row.words = f"{asked} of 9 questions were put; the honest viewer's " + (
                    f"isn't: {refused[0]['reason']}" if refused else "waits behind them")
                if refused:
                    row.came = "kept out"
        finally:
            terminal.close()


def ask(peer: Peer, name: str | bytes = "asker") -> bool:
    """Takes a comparison as far as possible without the person; True if the host continued."""
    try:
        welcome = peer.greet(name)
        if not welcome.methods & wire.BY_COMPARING:
            return False
        nonce = os.urandom(32)
        host = peer.host_device
        peer.send(bytes([wire.COMPARE_COMMIT])
                  + wire.commitment(peer.identity.device, host, welcome.nonce, nonce))
        answer = peer.wait_for(wire.COMPARE_NONCE, timeout=0.6)
        if answer is not None:
            peer.send(bytes([wire.COMPARE_REVEAL]) + nonce)
            peer.wait_for(wire.PAIRED, timeout=0.2)
        return True
    except Refused:
        return False


class Instances(Attack):
    """One admitted device joins with 63 instances; then another viewer joins."""

    name = "instances"

    def play(self, lab: Laboratory, row: Row) -> None:
        with lab.scene() as scene, scene.attack(row):
            joined = 0
            for _ in range(63):
                try:
                    scene.peer().join(timeout=2)
                    joined += 1
                except (Refused, OSError):
                    continue
            row.words = f"{joined} were let in; " + first_picture(lab, scene, row, patience=lab.seconds(8))


class Version1Viewers(Attack):
    """63 version 1 viewers join from one address and stay."""

    name = "version-1-viewers"

    def play(self, lab: Laboratory, row: Row) -> None:
        sockets = []
        with lab.scene("--allow-unencrypted") as scene, scene.attack(row):
            accepted = 0
            for index in range(63):
                try:
                    viewer = connect("127.0.0.1", scene.port, "127.0.40.1", 2)
                    sockets.append(viewer)
                    code = f"{100000 + index}"
                    viewer.sendall(b'{"app":"beamroom","ver":1,"role":"viewer","code":"%s"}\n' % code.encode())
                    viewer.settimeout(1)
                    accepted += b'"ok":true' in viewer.recv(4096)
                except OSError:
                    continue
            row.words = f"{accepted} were let in; " + first_picture(lab, scene, row, patience=lab.seconds(8))
        for viewer in sockets:
            viewer.close()


class Descriptors(Attack):
    """The host may open 64 files; an attacker opens connections until no descriptor is left."""

    name = "descriptors"

    def play(self, lab: Laboratory, row: Row) -> None:
        with lab.scene(descriptors=64) as scene:
            calm = scene.host.processor()
            time.sleep(1)
            calm = scene.host.processor() - calm
            with scene.attack(row):
                sockets = connections(scene, 120, 50, timeout=0.3)
                time.sleep(lab.seconds(5, 2))
            used = row.host_processor - calm
            for held in sockets:
                held.close()
            time.sleep(0.5)
            row.words = (f"{len(sockets)} connections; the host took {row.host_processor:.0%} of a core instead of "
                         f"{calm:.0%}; when they had gone, " + first_picture(lab, scene, row, patience=10))
            if used > 0.6 and row.came == "nothing":
                row.came = "spins"


class HalfOpenTLS(Attack):
    """From 20 addresses, connections send a TLS record's first bytes, and then a byte a second."""

    name = "slow-tls"

    def play(self, lab: Laboratory, row: Row) -> None:
        with lab.scene() as scene, scene.attack(row):
            sockets = []
            for index in range(100):
                try:
                    slow = connect("127.0.0.1", scene.port, f"127.0.{60 + index % 20}.1", 1)
                    slow.sendall(b"\x16\x03\x01\x02\x00\x01")
                    sockets.append(slow)
                except OSError:
                    continue
            for _ in range(2):
                time.sleep(1)
                for slow in sockets:
                    try:
                        slow.sendall(b"\0")
                    except OSError:
                        continue
            row.words = f"{len(sockets)} were open; {first_picture(lab, scene, row, patience=lab.seconds(20, 8))}"
            for slow in sockets:
                slow.close()


class SilentConnections(Attack):
    """From 20 addresses, 100 TCP connections are opened that never send a byte."""

    name = "silent-connections"

    def play(self, lab: Laboratory, row: Row) -> None:
        with lab.scene() as scene, scene.attack(row):
            sockets = connections(scene, 100, 90, timeout=1)
            row.words = f"{len(sockets)} were open; {first_picture(lab, scene, row, patience=lab.seconds(20, 8))}"
            for silent in sockets:
                silent.close()


class KnownCodeComes(Attack):
    """Idle connections take all places for unknown viewers; then a new viewer brings the right code."""

    name = "idle-connections-code"

    def play(self, lab: Laboratory, row: Row) -> None:
        with lab.scene("--code", CODE) as scene, scene.attack(row):
            held = IdleConnections().hold(scene)
            row.words = f"{held} were open; " + first_picture(lab, scene, row, "--code", CODE, known=False)


ATTACKS = [IdleConnections, IdleConnections6, KnownCodeComes, SilentConnections, HalfOpenTLS, ConnectFlood,
           ConnectFlood1000, Questions, Instances, Version1Viewers, Descriptors]
