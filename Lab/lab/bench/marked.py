"""A window on an X screen that can be marked as one of BeamRoom's own, as WindowMark of BeamDisplay does it."""

import ctypes
import ctypes.util
import threading

from lab.common.trouble import Trouble

CARDINAL, WINDOW = 6, 33
REPLACE = 0


class MarkedWindow:
    def __init__(self, display: str, width: int, height: int) -> None:
        self.x = ctypes.CDLL(ctypes.util.find_library("X11") or "libX11.so.6")
        for name, result in (("XOpenDisplay", ctypes.c_void_p), ("XDefaultRootWindow", ctypes.c_ulong),
                             ("XCreateSimpleWindow", ctypes.c_ulong), ("XInternAtom", ctypes.c_ulong)):
            getattr(self.x, name).restype = result
        self.x.XInitThreads()
        handle = self.x.XOpenDisplay(display.encode())
        if not handle:
            raise Trouble(f"The display {display} can't be opened.")
        self.display = ctypes.c_void_p(handle)
        self.root = ctypes.c_ulong(self.x.XDefaultRootWindow(self.display))
        self.left, self.top = 400, 300
        self.window = ctypes.c_ulong(self.x.XCreateSimpleWindow(
            self.display, self.root, self.left, self.top, width, height, 0, ctypes.c_ulong(0), ctypes.c_ulong(0x336699)))
        self.x.XMapRaised(self.display, self.window)
        self.mark(False)

    def _atom(self, name: bytes) -> ctypes.c_ulong:
        return ctypes.c_ulong(self.x.XInternAtom(self.display, name, 0))

    def _set(self, window: ctypes.c_ulong, name: bytes, kind: int, values: list[int]) -> None:
        # Xlib takes 32 bits as a `long`.
        self.x.XChangeProperty(self.display, window, self._atom(name), ctypes.c_ulong(kind), 32, REPLACE,
                               (ctypes.c_ulong * len(values))(*values), len(values))

    def mark(self, is_own: bool) -> None:
        """Makes it one of BeamRoom's own, or an ordinary one."""
        if is_own:
            self._set(self.window, b"_BEAMROOM_WINDOW", CARDINAL, [1])
            self._set(self.root, b"_BEAMROOM_WINDOWS", WINDOW, [self.window.value])
        else:
            self.x.XDeleteProperty(self.display, self.root, self._atom(b"_BEAMROOM_WINDOWS"))
            self.x.XDeleteProperty(self.display, self.window, self._atom(b"_BEAMROOM_WINDOW"))
        self.x.XSync(self.display, 0)

    def move(self, left: int, top: int) -> None:
        self.x.XMoveWindow(self.display, self.window, left, top)
        self.x.XSync(self.display, 0)

    def close(self) -> None:
        self.x.XCloseDisplay(self.display)


class Mover:
    """Moves a window 60 times a second, as somebody who drags it."""

    def __init__(self, window: MarkedWindow) -> None:
        self.window = window
        self.is_ended = threading.Event()
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self) -> None:
        step = 0
        while not self.is_ended.wait(1 / 60):
            step += 1
            self.window.move(300 + 4 * (step % 100), 200 + 2 * (step % 100))

    def close(self) -> None:
        self.is_ended.set()
        self.thread.join()
