"""A viewer that asks for exact tiles without end: what it costs the host, and another viewer."""

import contextlib
import ctypes
import random
import threading
import time
from typing import Self

from lab.attack import exactwire, wire
from lab.attack.laboratory import Apart, Attack, Laboratory, Row, Scene
from lab.attack.patches import screen
from lab.attack.peer import Watcher
from lab.common.trouble import Trouble

WIDTH, HEIGHT = 640, 360
# Tiles of 16 x 16 pixels.
ALL = (0, 0, WIDTH // 16, (HEIGHT + 15) // 16)
# What the host may take of a core, at rest: one thread that compresses, and gives way.
MOST_PROCESSOR = 1.0


class Screen:
    """Blocks of many colours on an X screen, one of which gets another colour `rate` times a second."""

    def __init__(self, display: str) -> None:
        self.x = ctypes.CDLL("libX11.so.6")
        for name, result in (("XOpenDisplay", ctypes.c_void_p), ("XDefaultRootWindow", ctypes.c_ulong),
                             ("XCreateSimpleWindow", ctypes.c_ulong), ("XCreateGC", ctypes.c_void_p)):
            getattr(self.x, name).restype = result
        handle = self.x.XOpenDisplay(display.encode())
        if not handle:
            raise Trouble(f"The display {display} can't be opened.")
        self.display = ctypes.c_void_p(handle)
        root = ctypes.c_ulong(self.x.XDefaultRootWindow(self.display))
        self.window = ctypes.c_ulong(self.x.XCreateSimpleWindow(self.display, root, 0, 0, WIDTH, HEIGHT, 0,
                                                                ctypes.c_ulong(0), ctypes.c_ulong(0x336699)))
        self.x.XMapRaised(self.display, self.window)
        self.context = ctypes.c_void_p(self.x.XCreateGC(self.display, self.window, ctypes.c_ulong(0), None))
        self.rate = 60.0
        self.is_over = threading.Event()
        self.thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        generator = random.Random(1)
        for _ in range(6000):
            self._fill(generator.randrange(1 << 24), generator.randrange(WIDTH), generator.randrange(HEIGHT),
                       generator.randrange(1, 12), generator.randrange(1, 12))
        self.x.XSync(self.display, 0)
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.is_over.set()
        self.thread.join()
        self.x.XCloseDisplay(self.display)

    def _fill(self, colour: int, x: int, y: int, width: int, height: int) -> None:
        self.x.XSetForeground(self.display, self.context, ctypes.c_ulong(colour))
        self.x.XFillRectangle(self.display, self.window, self.context, x, y, width, height)

    def _run(self) -> None:
        step, due = 0, time.monotonic()
        while not self.is_over.is_set():
            time.sleep(max(0, min(due - time.monotonic(), 0.1)))
            if time.monotonic() < due:
                continue
            step += 1
            self._fill(step * 40503 & 0xFFFFFF, 300, 100, 48, 48)
            self.x.XSync(self.display, 0)
            due = max(due + 1 / self.rate, time.monotonic() - 0.1)


class PatchRequests(Attack):
    """An admitted viewer asks for all exact tiles of a screen that moves, 1,500 times a second; another one 10,000 times a
    second, until it is sent away; and one 1,000 times a second of a screen that changes once a second.
    """

    name = "patches-requests"
    short = True

    def play(self, lab: Laboratory, row: Row) -> None:
        with contextlib.ExitStack() as stack:
            display = screen(stack, WIDTH, HEIGHT)
            with Screen(display) as shown:
                self.against(lab, row, shown, ["--display", display, "--no-cursor"])

    def against(self, lab: Laboratory, row: Row, shown: Screen, source: list[str]) -> None:
        seconds = lab.seconds(8, 3)
        with lab.scene(source=source) as scene:
            calm = round(scene.viewer.named("stats")[-1]["fps"])
            with scene.attack(row):
                with Apart(self.flood, scene, "slow", 1_500, seconds) as attacker:
                    moving = attacker.result()
                with Apart(self.flood, scene, "fast", 10_000, seconds / 2) as attacker:
                    fast = attacker.result()
            shown.rate = 1
            # The honest viewer gets few pictures of such a screen, so nothing of it is judged.
            used, begin = scene.host.processor(), time.monotonic()
            with Apart(self.flood, scene, "patient", 1_000, seconds) as attacker:
                resting = attacker.result()
            share = (scene.host.processor() - used) / (time.monotonic() - begin)
            shown.rate = 60
            since = time.monotonic()
            again = scene.viewer.wait(lambda: [event for event in scene.viewer.named("stats", since + 1)
                                               if event["fps"] > calm / 2], 5)
        scene.memory_into(row)
        row.words = row.words or (
            f"{calm} frames a second before; while it moves {self.told(moving)}, and of the other one {self.told(fast)}, "
            f"{row.host_processor:.0%} of a core; at rest {self.told(resting)}, {share:.0%}")
        if row.came == "nothing" and not again:
            row.came, row.words = "frozen", f"{row.words}; then the honest viewer got no more pictures"
        elif row.came == "nothing" and share > MOST_PROCESSOR and not lab.short:
            row.came = "costs too much"
        elif row.came == "nothing" and not (moving[1] and resting[1]):
            row.came, row.words = "unclear", f"{row.words}: no patch was sent"

    @staticmethod
    def told(found: tuple[int, int, int, bool]) -> str:
        asked, patches, size, is_away = found
        return (f"{asked} requests, {patches} datagrams of patches, {size / 1e6:.1f} MB in all"
                + (", then it was sent away" if is_away else ""))

    @staticmethod
    def flood(scene: Scene, identity: str, rate: int, seconds: float) -> tuple[int, int, int, bool]:
        """How often it asked, datagrams of patches, bytes of all that came, and whether the host ended it."""
        with scene.peer(identity=identity) as peer:
            peer.join(features=exactwire.FEATURE)
            with Watcher(peer) as watcher:
                begin, count = time.monotonic(), 0
                while time.monotonic() < begin + seconds and not watcher.trouble:
                    for _ in range(rate // 200 + 1):
                        newest = range(watcher.newest_patch - 15, watcher.newest_patch + 1)
                        lacking = wire.patches_missing(*newest)
                        peer.say(watcher.media, wire.FEEDBACK, wire.inexact(ALL) + lacking)
                        count += 1
                    time.sleep(max(0, begin + count / rate - time.monotonic()))
                return count, watcher.patches, watcher.bytes, watcher.trouble is not None


ATTACKS = [PatchRequests]
