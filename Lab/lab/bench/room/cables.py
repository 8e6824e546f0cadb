"""Networks of members: a namespace for each, joined by a router that can cut any two apart."""

import contextlib
import pathlib
import re
import subprocess
from collections.abc import Iterable, Iterator

from lab.common.namespaces import entering, ip, namespace
from lab.common.trouble import Trouble
from lab.network import links


class Cables:
    """The namespace that this runs in is the router. Members are numbered from 1."""

    def __init__(self, stack: contextlib.ExitStack, directory: pathlib.Path, count: int, losses: str | None = None) -> None:
        self.stack = stack
        self.log = stack.enter_context(open(pathlib.Path(directory) / "network", "a"))
        self.ends, self.relays, self.cuts, self.moved = {}, [], [], set()
        pathlib.Path("/proc/sys/net/ipv4/ip_forward").write_text("1")
        stack.callback(self.join)
        for number in range(1, count + 1):
            self.ends[number] = stack.enter_context(namespace(self.log))
            if losses:
                relay = links.Relay(self.log, self.ends[number], losses, (), number, number)
                self.relays.append(stack.enter_context(relay))
            else:
                self._veth(number)
            ip("route", "replace", "default", "via", f"10.77.{number}.1", at=self.at(number))

    def _veth(self, number: int) -> None:
        device = self.device(number)
        ip("link", "add", device, "type", "veth", "peer", "name", device, "netns", self.ends[number])
        # It would stay until the system has done away with the namespace.
        self.stack.callback(subprocess.run, ["ip", "link", "delete", device], capture_output=True)
        ip("address", "add", f"10.77.{number}.1/24", "dev", device)
        ip("link", "set", device, "up")
        ip("address", "add", f"{self.address(number)}/24", "dev", device, at=self.at(number))
        ip("link", "set", device, "up", at=self.at(number))

    @staticmethod
    def device(number: int) -> str:
        return f"netlab{number}"

    def address(self, number: int) -> str:
        return f"10.77.{number}.{3 if number in self.moved else 2}"

    def at(self, number: int) -> list[str]:
        return entering(self.ends[number])

    # --- What happens to the cables

    def cut(self, pairs: Iterable[tuple[int, int]]) -> None:
        """Nothing passes between these any more, and nobody is told."""
        for one, other in pairs:
            for source, target in ((one, other), (other, one)):
                rule = ("from", f"10.77.{source}.0/24", "to", f"10.77.{target}.0/24", "blackhole")
                ip("rule", "add", *rule)
                self.cuts.append(rule)

    def join(self) -> None:
        for rule in self.cuts:
            ip("rule", "delete", *rule)
        self.cuts = []

    def move(self, number: int) -> None:
        """The member has another address from now on."""
        old = self.address(number)
        self.moved.add(number)
        ip("address", "delete", f"{old}/24", "dev", self.device(number), at=self.at(number))
        ip("address", "add", f"{self.address(number)}/24", "dev", self.device(number), at=self.at(number))
        # With the last address the routes of the device have gone.
        ip("route", "replace", "default", "via", f"10.77.{number}.1", at=self.at(number))

    def end(self) -> int:
        """Ends the relays, and returns how many packets they have lost."""
        for relay in self.relays:
            relay.end()
        return sum(relay.counters.get(way, {}).get("lost", 0) for relay in self.relays for way in ("forward", "back"))

    # --- Connections

    def _established(self, number: int) -> Iterator[tuple[tuple[int, ...], ...]]:
        command = [*self.at(number), "ss", "-Htn", "state", "established"]
        run = subprocess.run(command, capture_output=True, text=True)
        if run.returncode != 0:
            raise Trouble(f"“{' '.join(command)}” failed: {run.stderr.strip()}")
        for line in run.stdout.splitlines():
            places = re.findall(r"10\.77\.(\d+)\.(\d+)\]?:(\d+)", line)
            if len(places) == 2:
                yield tuple(tuple(int(word) for word in place) for place in places)

    def linked(self, number: int, other: int) -> bool:
        """Whether the two are connected by the address that the first has now."""
        host = int(self.address(number).rsplit(".", 1)[1])
        with contextlib.suppress(Trouble):
            return any(mine[1] == host and theirs[0] == other for mine, theirs in self._established(number))
        return False

    def pairs(self, port: int) -> dict[tuple[int, ...], int]:
        """How many connections each pair of members has."""
        found = {}
        for number in self.ends:
            for mine, theirs in self._established(number):
                # Each connection is counted once, where it was accepted.
                if mine[2] == port:
                    pair = tuple(sorted((number, theirs[0])))
                    found[pair] = found.get(pair, 0) + 1
        return found
