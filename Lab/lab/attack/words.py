"""Attacks through output for people and through files: neither may delay the stream."""

import fcntl
import os
import time

from lab.attack.laboratory import Apart, Attack, Laboratory, Row, Scene
from lab.attack.peer import Refused
from lab.common.programs import Terminal
from lab.common.states import CODE


def knock(scene: Scene, seconds: float, pause: float = 0.02) -> int:
    """Makes connections that the host refuses, each from another of 200 addresses; returns their number."""
    count, end = 0, time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            with scene.peer(f"127.1.{count % 200}.1", timeout=1) as peer:
                peer.greet("a stranger " + str(count))
        except (Refused, OSError):
            pass
        count += 1
        time.sleep(pause)
    return count


class StuckTerminal(Attack):
    """Ctrl-S stops the host's terminal, and then unknown peers connect."""

    name = "stuck-terminal"
    short = True

    def play(self, lab: Laboratory, row: Row) -> None:
        terminal = Terminal()
        try:
            with lab.scene("--trusted-only", accept=None, stderr=terminal.slave, stdin=terminal.slave) as scene:
                terminal.type("\x13")
                time.sleep(0.2)
                with scene.attack(row):
                    row.words = f"{knock(scene, lab.seconds(6, 4))} connections"
                terminal.type("\x11")
        finally:
            terminal.close()


class UnreadPipe(Attack):
    """Standard error is a pipe that nobody reads, and unknown peers connect."""

    name = "unread-pipe"
    short = True

    def play(self, lab: Laboratory, row: Row) -> None:
        reader, writer = os.pipe()
        try:
            fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
            with lab.scene("--trusted-only", accept=None, stderr=writer) as scene, scene.attack(row):
                row.words = f"{knock(scene, lab.seconds(6, 4))} connections"
        finally:
            os.close(reader)
            os.close(writer)


class ClosedPipe(Attack):
    """Standard error is a pipe whose reader has gone, and unknown peers connect."""

    name = "closed-pipe"

    def play(self, lab: Laboratory, row: Row) -> None:
        reader, writer = os.pipe()
        try:
            with lab.scene("--trusted-only", accept=None, stderr=writer) as scene:
                os.close(reader)
                with scene.attack(row):
                    row.words = f"{knock(scene, lab.seconds(5, 3))} connections"
        finally:
            os.close(writer)


class FullDevice(Attack):
    """Standard error is a file on a full disk."""

    name = "full-device"
    short = True

    def play(self, lab: Laboratory, row: Row) -> None:
        with open("/dev/full", "wb") as full:
            try:
                with lab.scene("--trusted-only", accept=None, stderr=full) as scene, scene.attack(row):
                    row.words = f"{knock(scene, lab.seconds(4, 2))} connections"
            except RuntimeError:
                row.came, row.words = "down", "the host doesn't come up"


class FloodOfWords(Attack):
    """Unknown peers connect as fast as they can, and each causes a message."""

    name = "flood-of-words"

    def play(self, lab: Laboratory, row: Row) -> None:
        with lab.scene("--trusted-only", accept=None) as scene:
            before = len(scene.host.error_text.splitlines())
            with scene.attack(row):
                seconds = lab.seconds(8, 4)
                with Apart(knock, scene, seconds, 0) as attacker:
                    count = attacker.result()
            lines = len(scene.host.error_text.splitlines()) - before
        row.words = f"{count} connections, {lines} lines in {seconds} s"
        if lines > 10 * seconds:
            row.came = "floods the person"


class LockedStore(Attack):
    """The lock of the host's list of devices is held for 6 s while somebody pairs by a code."""

    name = "locked-store"

    def play(self, lab: Laboratory, row: Row) -> None:
        with lab.scene("--code", CODE) as scene:
            with open(scene.host_state / "beamroom" / "lock", "a") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                with scene.attack(row):
                    with lab.watch(lab.state(), scene.port, "--code", CODE) as viewer:
                        took = viewer.wait_for("first-frame", 6)
                        time.sleep(6)
                fcntl.flock(lock, fcntl.LOCK_UN)
        row.words = ("who paired meanwhile " + ("saw the picture" if took else "saw nothing"))


ATTACKS = [StuckTerminal, UnreadPipe, ClosedPipe, FullDevice, FloodOfWords, LockedStore]
