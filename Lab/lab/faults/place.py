"""Where a fault happens: two machines with a network between them, their programs, screens and folders."""

from __future__ import annotations

import contextlib
import os
import pathlib
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from lab.common import build, isolation, namespaces, processes
from lab.common.machines import Machines
from lab.common.namespaces import entering, ip, namespace, run
from lab.common.processes import Found
from lab.common.programs import Program
from lab.common.screens import Workplace, new_screen
from lab.common.states import CODE, States
from lab.common.trouble import Trouble
from lab.faults.pictures import Drawn, Pictures
from lab.network import links

# Small pictures, whose keyframes still take many datagrams.
SOURCE = ["--source", "pattern", "--size", "640x360", "--max-fps", "30"]
PORT = 52345


def run_inside(module: str, arguments: list[str]) -> int:
    trouble = namespaces.obstacle()
    if trouble:
        raise Trouble(trouble)
    return isolation.run_inside(module, ["--inside", *arguments], {"BEAMROOM_RELAY": build.relay()})


# --- Networks: each has the commands that enter its two ends, and the host's address ----------------------------------


class Here:
    """Base of the networks: both ends in the namespace of the faults, at the loopback."""

    host_address = "127.0.0.1"
    at_host: Sequence[Any] = ()
    at_viewer: Sequence[Any] = ()

    def __init__(self, place: Place) -> None:
        self.place = place


class Cable(Here):
    """Two network namespaces, joined by a pair of interfaces “lan0”."""

    host_address, viewer_address = "10.88.0.1", "10.88.0.2"
    host_address6, viewer_address6 = "fd88::1", "fd88::2"

    def __init__(self, place: Place, has_ipv4: bool = True, has_ipv6: bool = True,
                 host_at: Sequence[str] | None = None) -> None:
        """`host_at`: enters the host's namespace, if there is one already."""
        super().__init__(place)
        ends = [place.stack.enter_context(namespace(place.log)) for _ in range(2 if host_at is None else 1)]
        *found, self.at_viewer = (entering(pid) for pid in ends)
        self.at_host = found[0] if found else host_at or ()
        ip("link", "add", "lan0", "type", "veth", "peer", "name", "lan0", "netns", ends[-1],
                   at=self.at_host)
        for at, v4, v6 in ((self.at_host, self.host_address, self.host_address6),
                           (self.at_viewer, self.viewer_address, self.viewer_address6)):
            # An address that was set stays when the interface goes down, as those of a router's announcements return.
            run(*at, "sysctl", "-qw", "net.ipv6.conf.lan0.keep_addr_on_down=1", "net.ipv6.conf.all.keep_addr_on_down=1",
                "net.ipv6.conf.lan0.accept_dad=0", "net.ipv6.conf.all.accept_dad=0")
            ip("link", "set", "lan0", "up", at=at)
            if has_ipv4:
                ip("address", "add", f"{v4}/24", "dev", "lan0", at=at)
            if has_ipv6:
                ip("address", "add", f"{v6}/64", "dev", "lan0", "nodad", at=at)
        if not has_ipv4:
            self.host_address = self.host_address6

    def viewer_ip(self, *words: object) -> None:
        ip(*words, at=self.at_viewer)

    def interrupt(self, seconds: float) -> None:
        """The viewer's interface is down so long."""
        self.viewer_ip("link", "set", "lan0", "down")
        time.sleep(seconds)
        self.viewer_ip("link", "set", "lan0", "up")

    def host_ip(self, *words: object) -> None:
        ip(*words, at=self.at_host)


class Routed(Here):
    """Two networks, and between them two routers whose link takes smaller packets: they say so by ICMP, both ways."""

    host_address = "10.88.1.1"

    def __init__(self, place: Place, size: int) -> None:
        super().__init__(place)
        # Host, its router, the viewer's router, viewer.
        ends = [place.stack.enter_context(namespace(place.log)) for _ in range(4)]
        at = [entering(pid) for pid in ends]
        self.at_host, *self.at_routers, self.at_viewer = at
        for place_, network in enumerate((1, 0, 2)):
            left, right = at[place_], at[place_ + 1]
            ip("link", "add", f"net{network}", "type", "veth", "peer", "name", f"net{network}", "netns",
                       ends[place_ + 1], at=left)
            # A host's address ends with 1, a router's with 2 or 3.
            for side, number in ((left, 1 if network == 1 else 2), (right, 1 if network == 2 else 3)):
                ip("address", "add", f"10.88.{network}.{number}/24", "dev", f"net{network}", at=side)
                ip("link", "set", f"net{network}", "up", at=side)
        for side, gateway in zip(at, ("10.88.1.3", "10.88.0.3", "10.88.0.2", "10.88.2.2")):
            ip("route", "add", "default", "via", gateway, at=side)
        for side in self.at_routers:
            run(*side, "sysctl", "-qw", "net.ipv4.ip_forward=1")
        self.set_size(size)

    def set_size(self, size: int) -> None:
        """Of IP packets between the routers."""
        for side in self.at_routers:
            ip("link", "set", "net0", "mtu", size, at=side)


class Relayed(Here):
    """The laboratory's relay, which loses, delays and limits packets; the host is in the namespace of the faults."""

    def __init__(self, place: Place, settings: str, seed: int = 1, number: int = 0) -> None:
        super().__init__(place)
        viewer_end = place.stack.enter_context(namespace(place.log))
        self.at_viewer = entering(viewer_end)
        self.host_address = f"10.77.{number}.1"
        self.link = place.stack.enter_context(links.Relay(place.log, viewer_end, settings, (), seed, number, 7200))

    def change(self, settings: str) -> None:
        self.link.change(settings)


class Announced(Here):
    """Two machines with discovery, at one cable."""

    host_address = Machines.addresses[0]

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        self.machines = Machines(place.directory, place.stack, place.log)
        self.at_host, self.at_viewer = self.machines.at(0), self.machines.at(1)
        self.bus = self.machines.bus

    def daemons(self, command: str) -> None:
        if not self.machines.daemons(command):
            raise Trouble(f"private-avahi {command} failed: {self.place.last_words()}")


# --- A place ----------------------------------------------------------------------------------------------------------


class Place(Workplace):
    """The programs of one fault, their folders and pictures. Everything ends with it."""

    def __init__(self, options: Any, shared: pathlib.Path) -> None:
        """`shared`: a folder for what all places use."""
        super().__init__()
        self.program, self.shared, self.is_short = options.program, shared, options.is_short
        # Programs and pictures; None before they are there.
        self.host: Any = None
        self.viewer: Any = None
        self.pictures: Any = None
        self.given_network: Any = None
        self.programs: list[Program] = []
        # At which end each of them is: host, viewer or another name.
        self.ends: dict[Program, str] = {}
        words = ["--code", CODE, "--json"]
        self.states = States(
            self.directory, shared,
            lambda state: Program([self.program, "share", *SOURCE, "--no-discovery", "--name", "desk", "--bind", "127.0.0.1",
                                   "--accept", "none", *words], state),
            lambda state: Program([self.program, "watch", "127.0.0.1", "--no-window", *words], state))

    @property
    def network(self) -> Any:
        """A cable between two machines, unless the fault has set another one."""
        if self.given_network is None:
            self.given_network = Cable(self)
        return self.given_network

    @network.setter
    def network(self, given: Here) -> None:
        self.given_network = given

    def __exit__(self, *_: object) -> None:
        for program in self.programs:
            with contextlib.suppress(ProcessLookupError):
                os.kill(program.pid, signal.SIGCONT)
            program.end()
        if self.pictures:
            self.pictures.close()
        self.stack.close()

    def screen(self, width: int = 640, height: int = 360) -> tuple[str, int]:
        """A new X server: its display and process."""
        return new_screen(self.stack, width, height, self.log)

    def painter(self, display: str, size: str = "640x360", rate: float = 20) -> tuple[subprocess.Popen, str]:
        """A window whose content moves: its process and ID."""
        process = subprocess.Popen([sys.executable, "-B", "-m", "lab.faults.painter", display, size, str(rate)],
                                   stdout=subprocess.PIPE, stderr=self.log, text=True, start_new_session=True)
        self.stack.callback(processes.end, process)
        window = process.stdout.readline().strip()
        if not window:
            raise Trouble(f"No window came up on {display}: {self.last_words()}")
        return process, window

    def state(self, kind: str | None = None) -> pathlib.Path:
        """A new state folder; with `kind` a copy of the paired host's or viewer's."""
        return self.states.new(kind)

    def paired(self) -> pathlib.Path:
        """The states of a host and a viewer that know each other."""
        return self.states.paired()

    # --- Programs

    def start(self, end: str, at: Sequence[str], words: Iterable[object], state: pathlib.Path, **how: Any) -> Program:
        """`end`: host or viewer."""
        program = Program([str(word) for word in (*at, self.program, *words)], state, **how)
        self.ends[program] = end
        self.programs.append(program)
        return program

    def share(self, *words: object, source: Sequence[str] = SOURCE, announced: bool = False, ready: bool = True,
              state: pathlib.Path | None = None, **how: Any) -> Program:
        """Starts the host."""
        if not hasattr(self, "host_state"):
            self.host_state = self.state("host")
        self.host_words = (words, source, announced, state, how)
        self.host = self.start(
            "host", self.network.at_host,
            ["share", *source, *([] if announced else ["--no-discovery"]), "--json", "--name", "desk", "--accept", "none",
             *words], state or self.host_state, **how)
        host = self.host
        if ready:
            host.wait(lambda: host.named("ready") or host.process.poll() is not None, 15)
            if not host.named("ready"):
                raise RuntimeError(f"the host doesn't start: {host.error_text}")
        return host

    def share_again(self) -> Program:
        """The same host anew."""
        words, source, announced, state, how = self.host_words
        return self.share(*words, source=source, announced=announced, state=state, **how)

    def watch(self, *words: object, target: str | None = None, window: str | None = None, drawn: Drawn = Drawn(),
              state: pathlib.Path | None = None, **how: Any) -> Program:
        """Starts the viewer, and reads its pictures. `window`: on this display."""
        if not hasattr(self, "viewer_state"):
            self.viewer_state = self.state("viewer")
        if self.pictures is None:
            self.pictures = Pictures(self.directory / "pictures", drawn)
        self.viewer_words = (words, target, window, drawn, state, how)
        self.viewer = self.start(
            "viewer", self.network.at_viewer,
            ["watch", target or self.network.host_address, "--json", "--frames", self.pictures.path,
             *(["--display", window, "--renderer", "software"] if window else ["--no-window"]), *words],
            state or self.viewer_state, **how)
        return self.viewer

    def another_viewer(self, network: Any = None, target: str | None = None, **how: Any) -> Program:
        """Starts one more viewer, without a window; `network`: another way to the host."""
        network = network or self.network
        return self.start("other", network.at_viewer, ["watch", target or network.host_address, "--json", "--no-window"],
                          self.state("viewer"), **how)

    def watch_again(self) -> Program:
        words, target, window, drawn, state, how = self.viewer_words
        return self.watch(*words, target=target, window=window, drawn=drawn, state=state, **how)

    def wait(self, condition: Callable[[], Found], seconds: float) -> Found | None:
        """The first true result; None after so many seconds."""
        return processes.first_true(condition, seconds)

    def wait_for_end(self, program: Program, seconds: float, pause: float = 0.5) -> None:
        """Until the program has ended, but no longer than so many seconds; and a moment more."""
        self.wait(lambda: program.process.poll() is not None, seconds)
        time.sleep(pause)

    def wait_for_pictures(self, seconds: float = 20) -> None:
        """Until the viewer has shown whole pictures for a second."""
        begin = time.monotonic()
        if not self.wait(lambda: self.pictures.right(begin), seconds):
            raise RuntimeError(
                f"no picture in {seconds} s. Host: {self.host.error_text} Viewer: {self.viewer.error_text}")
        time.sleep(0.5)

    def both(self, share: Sequence[str] = (), watch: Sequence[object] = (), **how: Any) -> None:
        """Host and viewer, until pictures have come for a second."""
        self.share(*share)
        self.watch(*watch, **how)
        self.wait_for_pictures()
