"""Clocks, disks, folders, descriptors, memory and ports that fail."""

import os
import pathlib
import resource
import shutil
import subprocess
import sys
import time

from lab.common import processes
from lab.common.clocks import WallClock
from lab.common.namespaces import run
from lab.common.states import CODE
from lab.faults.fault import Fault, NotTried, Row
from lab.faults.place import PORT, Cable, Place

# --- The clock


class Clock(Fault):
    """The viewer's clock is set forward by 5 hours, and back by 10 hours after 3 s."""

    name = "clock-viewer"
    stands_at_most = 1.0
    end = "viewer"

    def play(self, place: Place, row: Row) -> None:
        obstacle = WallClock.obstacle()
        if obstacle:
            raise NotTried(obstacle)
        clock = WallClock(place.directory / "clock")
        environment = clock.environment
        place.share(environment=environment if self.end == "host" else None)
        place.watch(environment=environment if self.end == "viewer" else None)
        place.wait_for_pictures()
        row.begin()
        clock.set(5 * 3600)
        time.sleep(3)
        clock.set(-5 * 3600)
        row.over()
        row.wait_right(place)
        # A viewer that comes anew meets certificates and stored times of another day.
        other = place.another_viewer(environment=environment if self.end == "viewer" else None)
        if not other.wait_for("first-frame", 10):
            row.differences.append(f"another viewer isn't let in: {other.error_text.strip()}")


class HostClock(Clock):
    """The host's clock is set forward by 5 hours, and back by 10 hours after 3 s."""

    name = "clock-host"
    end = "host"


# --- Disks and folders


def small_disk(place: Place, name: str, size: str) -> pathlib.Path:
    """A file system of so many bytes, which ends with the place."""
    folder = place.directory / name
    folder.mkdir()
    run("mount", "-t", "tmpfs", "-o", f"size={size},mode=700", "beamroom-faults", folder)
    # Before the folder is removed.
    place.stack.callback(lambda: subprocess.run(["umount", "-l", folder], capture_output=True))
    return folder


class DiskFull(Fault):
    """The disk with the viewer's recording is full."""

    name = "disk-full-viewer"
    stands_at_most = 1.0
    says = {"viewer": "record.*(full|space)|(full|space).*record"}
    end = "viewer"

    def play(self, place: Place, row: Row) -> None:
        disk = small_disk(place, "disk", "128k")
        record = ["--record", disk / "talk.mkv"]
        place.share(*(record if self.end == "host" else []))
        row.begin()
        place.watch(*(record if self.end == "viewer" else []))
        place.wait_for_pictures()
        program = getattr(place, self.end)
        place.wait(lambda: program.process.poll() is not None
                   or "record" in program.error_text.split("Recording into")[-1], 30)
        row.over()
        row.wait_right(place)


class HostDiskFull(DiskFull):
    """The disk with the host's recording is full."""

    name = "disk-full-host"
    says = {"host": "record.*(full|space)|(full|space).*record"}
    end = "host"


class StateReadOnly(Fault):
    """The folder of keys and paired devices is on a disk that is read-only, at both ends; they know each other."""

    name = "state-read-only"
    right_within = 5.0

    def play(self, place: Place, row: Row) -> None:
        place.network = Cable(place)
        states = []
        for end in ("host", "viewer"):
            disk = small_disk(place, f"disk-{end}", "1m")
            shutil.copytree(place.paired() / end, disk / "state")
            run("mount", "-o", "remount,ro", disk)
            states.append(disk / "state")
        row.begin()
        place.share(state=states[0])
        place.watch(state=states[1])
        row.wait_right(place, 10)


class StateUnwritable(Fault):
    """A viewer that is new has a folder for its key that can't be made."""

    name = "state-missing"
    right_within = None
    ends = {"viewer": 1}
    says = {"viewer": "folder|directory|XDG_STATE_HOME"}
    viewer_can_speak = False

    def play(self, place: Place, row: Row) -> None:
        disk = small_disk(place, "disk", "1m")
        run("mount", "-o", "remount,ro", disk)
        place.share("--code", CODE)
        row.begin()
        place.watch("--code", CODE, environment={"XDG_STATE_HOME": str(disk / "none")})
        place.wait_for_end(place.viewer, 10)


class NoHome(Fault):
    """Neither HOME nor XDG_STATE_HOME is set, at both ends."""

    name = "no-home"
    right_within = 5.0

    def play(self, place: Place, row: Row) -> None:
        place.network = Cable(place)
        environment = {"HOME": None, "XDG_STATE_HOME": None}
        # The account's folder is used, which isn't to be changed by this.
        home = os.path.expanduser("~root" if os.geteuid() == 0 else "~")
        empty = place.directory / "home"
        empty.mkdir()
        run("mount", "--bind", empty, home)
        place.stack.callback(subprocess.run, ["umount", "-l", home], capture_output=True)
        row.begin()
        place.share("--code", CODE, environment=environment)
        place.watch("--code", CODE, environment=environment)
        row.wait_right(place, 10)


# --- Descriptors, memory, ports


class Descriptors(Fault):
    """The viewer may open 12 files."""

    name = "descriptors-viewer"
    right_within = None
    ends = {"viewer": 1}
    says = {"viewer": "file|descriptor"}
    viewer_can_speak = False

    def play(self, place: Place, row: Row) -> None:
        place.share()
        row.begin()
        place.watch(limits={resource.RLIMIT_NOFILE: 12})
        place.wait_for_end(place.viewer, 10)


class HostDescriptors(Fault):
    """The host may open 64 files, and 60 connections that say nothing take them; they go after 10 s."""

    name = "descriptors-host"
    stands_at_most = 1.0

    def play(self, place: Place, row: Row) -> None:
        place.share(limits={resource.RLIMIT_NOFILE: 64})
        place.watch()
        place.wait_for_pictures()
        row.begin()
        script = (f"import socket,time\nall=[]\nfor i in range(60):\n try: all.append(socket.create_connection(("
                  f"'{place.network.host_address}',{PORT}),1))\n except OSError: pass\ntime.sleep(10)")
        subprocess.run([*place.network.at_viewer, sys.executable, "-c", script], stdout=place.log, stderr=place.log)
        row.over()
        row.wait_right(place)
        other = place.another_viewer()
        if not other.wait_for("first-frame", 10):
            row.differences.append("another viewer gets no picture afterwards")


class Memory(Fault):
    """The viewer's address space has no room for large pictures (RLIMIT_AS of 700 MB; the host sends 7680x4320)."""

    name = "memory-viewer"
    right_within = None
    # Which library finds no room first depends on the machine.
    says = {"viewer": "memory|doesn't start"}
    ends = {"viewer": 1}
    viewer_can_speak = False

    def play(self, place: Place, row: Row) -> None:
        place.share(source=["--source", "pattern", "--size", "7680x4320", "--max-fps", "5"])
        row.begin()
        place.watch("--max-picture", "8192x4352", limits={resource.RLIMIT_AS: 700 << 20})
        place.wait_for_end(place.viewer, 20)


class HostMemory(Fault):
    """The host's address space has no room for the pictures that it is to share (RLIMIT_AS of 700 MB; 7680x4320)."""

    name = "memory-host"
    right_within = None
    says = {"host": "memory"}
    ends = {"host": 1}
    viewer_can_speak = False

    def play(self, place: Place, row: Row) -> None:
        place.network = Cable(place)
        row.begin()
        place.share(source=["--source", "pattern", "--size", "7680x4320", "--max-fps", "5"], ready=False,
                    limits={resource.RLIMIT_AS: 700 << 20})
        place.watch()
        place.wait_for_end(place.host, 20)
        # Nobody is there for it.
        place.viewer.end()
        place.viewer = None


class PortsGone(Fault):
    """The viewer's machine has no free port for 10 s."""

    name = "ports-viewer"
    right_within = 5.0
    says = {"viewer": True}

    def play(self, place: Place, row: Row) -> None:
        at = place.network.at_viewer
        place.share()
        run(*at, "sysctl", "-qw", "net.ipv4.ip_local_port_range=40000 40007")
        script = ("import socket,sys,time\nall=[]\nfor port in range(40000,40008):\n"
                  " for kind in (1,2):\n  s=socket.socket(10,kind); s.bind(('::',port)); all.append(s)\n"
                  "  if kind==1: s.listen()\nprint(1,flush=True)\ntime.sleep(60)")
        taken = subprocess.Popen([*at, sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=place.log)
        place.stack.callback(processes.end, taken)
        if not taken.stdout.readline():
            raise NotTried("the ports can't be taken here")
        row.begin()
        place.watch()
        time.sleep(10)
        taken.kill()
        taken.wait()
        row.over()
        row.wait_right(place)


class PortTaken(Fault):
    """Another program has the host's TCP port."""

    name = "port-taken"
    short = True
    right_within = None
    says = {"host": "already shares.*52345"}
    ends = {"host": 1}
    viewer_can_speak = False

    def play(self, place: Place, row: Row) -> None:
        place.share()
        first = place.host
        row.begin()
        place.share(ready=False)
        place.wait(lambda: place.host.process.poll() is not None, 10)
        first.end()
        time.sleep(0.5)


FAULTS = [Clock, HostClock, DiskFull, HostDiskFull, StateReadOnly, StateUnwritable, NoHome, Descriptors,
          HostDescriptors, Memory, HostMemory, PortsGone, PortTaken]
