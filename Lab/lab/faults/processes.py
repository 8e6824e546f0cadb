"""Programs that are killed, stopped or ended."""

import os
import signal
import statistics
import time

from lab.common.programs import Program
from lab.faults.fault import Fault, Row
from lab.faults.place import Place


def stop(place: Place, row: Row, program: Program, seconds: float) -> None:
    row.begin()
    os.kill(program.pid, signal.SIGSTOP)
    time.sleep(seconds)
    os.kill(program.pid, signal.SIGCONT)
    row.over()
    row.wait_right(place)


class HostKilled(Fault):
    """The host is killed (kill -9) and started again after 3 s."""

    name = "host-killed"
    short = True
    right_within = 1.0
    says = {"viewer": True, "host": True}
    times = 3

    def play(self, place: Place, row: Row) -> None:
        place.both()
        took = []
        for _ in range(1 if place.is_short else self.times):
            row.begin()
            place.host.process.kill()
            place.host.process.wait()
            time.sleep(3)
            place.share_again()
            # From the moment that it listens.
            row.ended = place.host.named("ready")[-1]["at"]
            row.wait_right(place)
            took.append(row.right)
        if None not in took:
            row.right = max(took)
            row.notes.append(f"median of {len(took)}: {statistics.median(took):.2f} s")
        else:
            row.right = None


class HostEnded(Fault):
    """Ctrl-C ends the host; it is started again after 3 s."""

    name = "host-ended"
    right_within = 1.0
    says = {"viewer": "ended its share|has ended", "host": True}

    def play(self, place: Place, row: Row) -> None:
        place.both()
        row.begin()
        place.host.end()
        time.sleep(3)
        place.share_again()
        row.ended = place.host.named("ready")[-1]["at"]
        row.wait_right(place)


class ViewerKilled(Fault):
    """The viewer is killed (kill -9) and started again after 3 s."""

    name = "viewer-killed"
    short = True
    says = {"host": True}
    viewer_can_speak = False

    def play(self, place: Place, row: Row) -> None:
        place.both()
        row.begin()
        place.viewer.process.kill()
        place.viewer.process.wait()
        time.sleep(3)
        row.over()
        place.watch_again()
        row.wait_right(place)


class HostGone(Fault):
    """The host is killed and doesn't come back for 20 s."""

    name = "host-gone"
    right_within = None
    says = {"viewer": True}

    def play(self, place: Place, row: Row) -> None:
        place.both()
        row.begin()
        place.host.process.kill()
        place.host.process.wait()
        time.sleep(20)
        place.host = None


class HostStopped(Fault):
    """The host stands still (SIGSTOP) for 10 s."""

    name = "host-stopped-10"
    says = {"viewer": True}
    seconds = 10

    def play(self, place: Place, row: Row) -> None:
        place.both()
        stop(place, row, place.host, self.seconds)


class HostStoppedLong(HostStopped):
    """The host stands still (SIGSTOP) for 60 s."""

    name = "host-stopped-60"
    seconds = 60


class ViewerStopped(Fault):
    """The viewer stands still (SIGSTOP) for 10 s."""

    name = "viewer-stopped-10"
    viewer_can_speak = False
    seconds = 10

    def play(self, place: Place, row: Row) -> None:
        place.both()
        stop(place, row, place.viewer, self.seconds)


class ViewerStoppedLong(ViewerStopped):
    """The viewer stands still (SIGSTOP) for 60 s."""

    name = "viewer-stopped-60"
    says = {"host": True}
    seconds = 60


class ViewerReadsNothing(Fault):
    """A known viewer is let in and reads neither its connection nor its datagrams for 10 s."""

    name = "reads-nothing"
    stands_at_most = 1.0
    right_within = 1.0

    def play(self, place: Place, row: Row) -> None:
        place.both()
        other = place.another_viewer()
        if not other.wait_for("first-frame"):
            raise RuntimeError(f"the second viewer sees nothing: {other.error_text}")
        row.begin()
        # It stands in the system calls of its threads: its sockets fill up.
        os.kill(other.pid, signal.SIGSTOP)
        time.sleep(10)
        row.wait_right(place)
        os.kill(other.pid, signal.SIGCONT)


class PipeUnread(Fault):
    """Nobody reads the pipe that the viewer writes its pictures into, for 10 s."""

    name = "pipe-unread"

    def play(self, place: Place, row: Row) -> None:
        place.both()
        row.begin()
        place.pictures.is_read.clear()
        time.sleep(10)
        place.pictures.is_read.set()
        row.over()
        row.wait_right(place)


FAULTS = [HostKilled, HostEnded, HostGone, ViewerKilled, HostStopped, HostStoppedLong, ViewerStopped, ViewerStoppedLong,
          ViewerReadsNothing, PipeUnread]
