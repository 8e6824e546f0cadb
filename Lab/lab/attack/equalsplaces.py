"""An attack of a member of a room of equals on the places in it."""

import contextlib
import ctypes
import os
import pathlib
import socket
import struct
import threading
import time
from collections.abc import Iterator

from cryptography.hazmat.primitives import serialization

from lab.attack import mesh
from lab.attack.equals import OnRoom, Room
from lab.attack.laboratory import Apart, Laboratory, NotPlayed, Row
from lab.attack.peer import Peer, Refused
from lab.attack.wire import Identity
from lab.common.namespaces import entering, ip, namespace
from lab.common.programs import Program

CABLE = "lan0"
PLACES = 8
# Of the member that has no place and the two with whom it would have links, at both ends: after 5, 10 and 30 s each (page
# Limits), and some more where a link is lost because the machine is busy. Without pauses it would be hundreds.
MOST_DIALS = 40
# More is a flood of connections, for which nobody needs to be a member: connect-flood-1000.
REDIALS_PER_SECOND = 1000


class Dials:
    """Counts TCP connections on the cable, by the port that is dialled."""

    # A classic BPF program: IPv4 packets (by the kernel's word, SKF_AD_PROTOCOL) of TCP with SYN and without ACK.
    FILTER = [(0x28, 0, 0, 0xFFFFF000), (0x15, 0, 7, 0x0800), (0x30, 0, 0, 9), (0x15, 0, 5, socket.IPPROTO_TCP),
              (0xB1, 0, 0, 0), (0x50, 0, 0, 13), (0x54, 0, 0, 0x12), (0x15, 0, 1, 0x02), (0x06, 0, 0, 64), (0x06, 0, 0, 0)]
    # SO_ATTACH_FILTER, which Python has no name for; and ETH_P_ALL: without it only what comes in is seen.
    ATTACH_FILTER, ALL = 26, 3

    def __init__(self) -> None:
        self.ports: list[int] = []
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, 0)
        program = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *line) for line in self.FILTER))
        self.socket.setsockopt(socket.SOL_SOCKET, self.ATTACH_FILTER,
                               struct.pack("HP", len(self.FILTER), ctypes.addressof(program)))
        self.socket.bind((CABLE, self.ALL))
        self.socket.settimeout(0.2)
        self.is_over = False
        self.thread = threading.Thread(target=self._count, daemon=True)
        self.thread.start()

    def _count(self) -> None:
        while not self.is_over:
            with contextlib.suppress(TimeoutError):
                packet = self.socket.recv(64)
                start = 4 * (packet[0] & 15)
                self.ports.append(struct.unpack(">H", packet[start + 2:start + 4])[0])

    def close(self) -> None:
        self.is_over = True
        self.thread.join(2)
        self.socket.close()


class Apartment(Room):
    """Cleo is on another machine than the others, so that all tell each other their addresses, and dial them."""

    addresses = ("10.99.0.1", "10.99.0.2")

    def begin(self) -> None:
        if not self.lab.has_own_network:
            raise NotPlayed("a cable needs a network of its own")
        log = self.stack.enter_context(open(os.devnull, "w"))
        cleos = self.stack.enter_context(namespace(log))
        self.at_cleo = entering(cleos)
        ip("link", "add", CABLE, "type", "veth", "peer", "name", CABLE, "netns", cleos)
        for at, address in zip(([], self.at_cleo), self.addresses):
            ip("link", "set", CABLE, "addrgenmode", "none", at=at)
            ip("link", "set", CABLE, "up", at=at)
            ip("address", "add", f"{address}/24", "dev", CABLE, at=at)
        self.dials = Dials()
        self.stack.callback(self.dials.close)
        super().begin()

    def where(self, name: str) -> list[str]:
        return self.at_cleo if name == "cleo" else []

    def address(self, name: str) -> str:
        return self.addresses[name == "cleo"]


def redial(identity: Identity, address: str, ports: list[int], seconds: float) -> int:
    """Opens links without a pause after a refusal, and goes on as if there were a place. Returns how many."""
    begin, dialled = time.monotonic(), 0
    while time.monotonic() < begin + seconds:
        for port in ports:
            time.sleep(max(0.0, begin + dialled / REDIALS_PER_SECOND - time.monotonic()))
            dialled += 1
            with contextlib.suppress(Refused, OSError):
                with Peer(address, port, identity, protocol="beamroom-room/2") as peer:
                    greeting = peer.wait_for(mesh.GREETING, mesh.PAUSED, timeout=1)
                    if greeting and greeting[0] == mesh.GREETING:
                        count = struct.unpack(">H", greeting[45:47])[0]
                        peer.send(bytes([mesh.GREETING]) + greeting[1:17] + struct.pack(">IQQQH", 0, 1000, 7, 0, 0)
                                  + greeting[47 + 56 * count:])
                        peer.wait_for(mesh.PAUSED, timeout=1)
    return dialled


class Displaced(OnRoom):
    """A member squeezes out somebody whom it has let in, with keys of its own; who was squeezed out comes again. Another of
    its keys finds the room full and dials again without pause.
    """

    name = "equals-displaced"

    def room(self, lab: Laboratory) -> Room:
        self.apartment = Apartment(lab)
        return self.apartment

    def begin(self, scene: Room, lab: Laboratory) -> None:
        """Cleo is let in by the attacker's program. Then the attacker goes on with that program's key."""
        identity, state = lab.identity("mallory"), lab.state()
        self.give(identity, state)
        program = scene.start("mallory", *scene.at("anna"), state=state)
        self.cleo_state = lab.state()
        self.cleo = scene.start("cleo", *scene.at("mallory"), state=self.cleo_state)
        everybody = scene.anna.wait(lambda: self.here(scene.anna) == 4 and self.here(self.cleo) == 4, 20)
        program.end()
        self.links = tuple(mesh.Member(identity, scene.port(name), scene.address(name)) for name in ("anna", "ben"))
        scene.links += self.links
        if not everybody:
            raise RuntimeError(f"Cleo didn't come in: {self.cleo.error_text}")

    @staticmethod
    def give(identity: Identity, state: pathlib.Path) -> None:
        """Has a program with this state folder use that key."""
        folder = state / "beamroom"
        folder.mkdir(mode=0o700)
        file = folder / "identity.pem"
        file.touch(mode=0o600)
        file.write_bytes(identity.key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()))

    @staticmethod
    def here(program: Program) -> int:
        people = program.named("people")
        return sum(person["here"] for person in people[-1]["people"]) if people else 0

    @contextlib.contextmanager
    def ghosts(self, lab: Laboratory) -> Iterator[Identity]:
        """Fills the room with keys that are here by the attacker's word, and yields one more."""
        own, stay = self.links[0].key, self.links[0].stay(self.links[0].key.author.point)
        # Beside Anna, Ben and the attacker.
        keys = [mesh.Key(lab.identity(f"ghost-{number}"), own.room) for number in range(PLACES - 3)]
        ninth = mesh.Key(lab.identity("ninth"), own.room)
        said = [own.admitted(stay, key.author.point, b"ghost") for key in keys]
        said.append(own.admitted(stay, ninth.author.point, b"ninth", 1 << 50))
        is_over = threading.Event()

        def tell() -> None:
            honest = [link.peer.host_device for link in self.links]
            while not is_over.wait(0.8):
                statuses = [own.status(honest + [key.identity.device for key in keys])]
                statuses += [key.status([own.identity.device]) for key in keys]
                for link in self.links:
                    with contextlib.suppress(Refused, OSError):
                        link.send(mesh.message(mesh.STATUSES, statuses))

        for link in self.links:
            link.send(mesh.message(mesh.STATEMENTS, said))
        thread = threading.Thread(target=tell, daemon=True)
        thread.start()
        yield ninth.identity
        is_over.set()
        thread.join(2)

    def against(self, scene: Room, row: Row, lab: Laboratory) -> str:
        ports, start = [scene.port("anna"), scene.port("ben")], len(self.apartment.dials.ports)
        with self.ghosts(lab) as ninth:
            if not scene.anna.wait(lambda: self.here(scene.anna) >= PLACES, 10):
                raise RuntimeError("the attacker's keys don't count as here")
            first = self.was_told(self.cleo, 10)
            self.cleo.end()
            seconds = lab.seconds(20, 10)
            with Apart(redial, ninth, scene.address("anna"), ports, seconds) as attacker:
                again = scene.launch("cleo", "study", state=self.cleo_state)
                second = self.was_told(again, seconds)
                ninths = attacker.result(seconds + 20)
                dialled = self.apartment.dials.ports[start:]
                outward = sum(port in ports for port in dialled)
                inward = dialled.count(scene.port("cleo"))
            again.end()
        if not (first and second):
            row.came = "not told"
        if outward + inward > MOST_DIALS:
            row.came = "spins"
        return (f"who was squeezed out was {'' if first else 'not '}told that the room is full; when it came again it was "
                f"{'' if second else 'not '}told so, dialled the two {outward} times in {seconds:.0f} s and was dialled "
                f"{inward} times; the ninth dialled {ninths} times")

    @staticmethod
    def was_told(program: Program, seconds: float) -> bool:
        """Whether it says soon that the room is full."""
        return bool(program.wait(lambda: any("full" in event.get("reason", "") for name in ("refused", "link-refused")
                                             for event in program.named(name)), seconds))


ATTACKS = [Displaced]
