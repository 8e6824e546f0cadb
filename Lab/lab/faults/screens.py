"""X servers that go, screens that change their size, windows that are closed, and discovery that restarts."""

import os
import signal
import subprocess
import time

from lab.faults.fault import Fault, Row
from lab.faults.pictures import Drawn
from lab.faults.place import Announced, Place


def screen_source(display: str, *more: str) -> list[str]:
    return ["--source", "x11", "--display", display, "--max-fps", "30", *more]


class ScreenGoneAtHost(Fault):
    """The X server of the shared screen is killed."""

    name = "x-gone-host"
    is_pattern = False
    right_within = None
    says = {"host": True, "viewer": True}
    ends = {"host": 1}

    def play(self, place: Place, row: Row) -> None:
        display, pid = place.screen()
        place.painter(display)
        place.share(source=screen_source(display))
        place.watch()
        place.wait_for_pictures()
        row.begin()
        os.kill(pid, signal.SIGKILL)
        place.wait_for_end(place.host, 10, pause=3)


class ScreenGoneAtViewer(Fault):
    """The X server of the viewer's window is killed."""

    name = "x-gone-viewer"
    short = True
    right_within = None
    says = {"host": True, "viewer": "display"}
    ends = {"viewer": 1}
    viewer_can_speak = False

    def play(self, place: Place, row: Row) -> None:
        display, pid = place.screen()
        place.both(window=display)
        row.begin()
        os.kill(pid, signal.SIGKILL)
        place.wait_for_end(place.viewer, 10, pause=1)


class ScreenResized(Fault):
    """The shared screen changes its size 50 times in 15 s."""

    name = "resized"
    is_pattern = False
    stands_at_most = 2.0
    times = 50

    def play(self, place: Place, row: Row) -> None:
        display, _ = place.screen(1024, 768)
        place.painter(display)
        place.share(source=screen_source(display))
        place.watch(drawn=Drawn(1024, 768, is_scaled=False, parts=self.times + 8))
        place.wait_for_pictures()

        def xrandr(*words: object) -> None:
            subprocess.run(["xrandr", "--display", display, *map(str, words)], check=True, stdout=place.log,
                           stderr=place.log)

        row.begin()
        sizes = [(1024 - 16 * (number % 20 + 1), 768 - 8 * (number % 25 + 1)) for number in range(self.times)]
        for number, (width, height) in enumerate(sizes):
            name = f"beam{number}"
            xrandr("--newmode", name, 60, width, 0, 0, width, height, 0, 0, height)
            xrandr("--addmode", "screen", name)
            xrandr("--output", "screen", "--mode", name)
            time.sleep(0.15)
        row.over()
        row.wait_right(place)


class WindowMinimised(Fault):
    """The shared window is minimised for 5 s."""

    name = "window-minimised"
    is_pattern = False
    says = {"host": "window", "viewer": "window|share"}

    def play(self, place: Place, row: Row) -> None:
        display, window, _ = share_window(place)
        row.begin()
        subprocess.run(["xdotool", "windowunmap", window], env={**os.environ, "DISPLAY": display}, check=True)
        time.sleep(5)
        subprocess.run(["xdotool", "windowmap", window], env={**os.environ, "DISPLAY": display}, check=True)
        row.over()
        row.wait_right(place)


def share_window(place: Place) -> tuple[str, str, subprocess.Popen]:
    display, _ = place.screen(1024, 768)
    process, window = place.painter(display)
    place.share(source=screen_source(display, "--window", window))
    place.watch()
    place.wait_for_pictures()
    return display, window, process


class WindowClosed(Fault):
    """The shared window is closed."""

    name = "window-closed"
    is_pattern = False
    right_within = None
    says = {"host": "window", "viewer": True}
    ends = {"host": 1}

    def play(self, place: Place, row: Row) -> None:
        _, _, painter = share_window(place)
        row.begin()
        painter.kill()
        place.wait_for_end(place.host, 5, pause=3)


def watch_by_name(place: Place) -> None:
    """A host that is announced, and a viewer that finds it by its name."""
    place.network = Announced(place)
    place.share(announced=True, environment=place.network.bus(0))
    place.watch(target="desk", environment=place.network.bus(1))
    place.wait_for_pictures(30)


class AvahiRestarted(Fault):
    """avahi-daemon is restarted at both ends; then another viewer comes by name."""

    name = "avahi-restarted"
    stands_at_most = 1.0

    def play(self, place: Place, row: Row) -> None:
        watch_by_name(place)
        row.begin()
        self.restart(place)
        row.over()
        row.wait_right(place)
        begin = time.monotonic()
        other = place.another_viewer(target="desk", environment=place.network.bus(1))
        first = other.wait_for("first-frame", 30)
        if first:
            row.notes.append(f"another viewer found it by name in {first['at'] - begin:.1f} s")
        else:
            row.differences.append("another viewer doesn't find it by name in 30 s")

    def restart(self, place: Place) -> None:
        place.network.daemons("restart-daemon")


class BusRestarted(AvahiRestarted):
    """D-Bus and avahi-daemon are restarted at both ends; then another viewer comes by name."""

    name = "dbus-restarted"

    def restart(self, place: Place) -> None:
        for command in ("stop-daemon", "stop-bus", "start-bus", "start-daemon"):
            place.network.daemons(command)


class HostAddressChanged(Fault):
    """The host's IPv4 address changes; the viewer watches it by its name."""

    name = "address-host"
    right_within = 10.0

    def play(self, place: Place, row: Row) -> None:
        watch_by_name(place)
        row.begin()
        for words in (["add", "10.77.0.99/24", "dev", "lan0"], ["del", "10.77.0.1/24", "dev", "lan0"],
                      ["replace", "10.77.0.99/24", "dev", "lan0"]):
            subprocess.run([*place.network.at_host, "ip", "address", *words], stdout=place.log, stderr=place.log)
        row.over()
        row.wait_right(place, 40)


FAULTS = [ScreenGoneAtHost, ScreenGoneAtViewer, ScreenResized, WindowMinimised, WindowClosed, AvahiRestarted,
          BusRestarted, HostAddressChanged]
