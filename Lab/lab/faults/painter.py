"""Draws the test pattern's code into a window of an X screen, with a new number each time.

usage: painter.py DISPLAY WIDTHxHEIGHT RATE

Prints the window's ID. Ends with the connection to the X server.
"""

import ctypes
import sys
import time
from typing import Any

from lab.faults.pictures import COLUMNS, SIDE, code_of


class Rectangle(ctypes.Structure):
    _fields_ = [("x", ctypes.c_short), ("y", ctypes.c_short), ("width", ctypes.c_ushort), ("height", ctypes.c_ushort)]


def library() -> ctypes.CDLL:
    x11 = ctypes.CDLL("libX11.so.6")
    x11.XOpenDisplay.restype = ctypes.c_void_p
    for name in ("XDefaultRootWindow", "XCreateSimpleWindow", "XBlackPixel", "XWhitePixel"):
        getattr(x11, name).restype = ctypes.c_ulong
    x11.XCreateGC.restype = ctypes.c_void_p
    return x11


def rectangles(code: bytes, wanted: bool) -> Any:
    places = [bit for bit in range(128) if bool(code[bit // 8] & 0x80 >> bit % 8) == wanted]
    found = (Rectangle * len(places))()
    for number, bit in enumerate(places):
        found[number] = Rectangle((1 + bit % COLUMNS) * SIDE, (1 + bit // COLUMNS) * SIDE, SIDE, SIDE)
    return found


def run(name: str, size: str, rate: float) -> None:
    x11, word, pointer = library(), ctypes.c_ulong, ctypes.c_void_p
    display = pointer(x11.XOpenDisplay(name.encode()))
    if not display:
        sys.exit(f"There is no X server {name}.")
    width, height = map(int, size.split("x"))
    black, white = (word(getattr(x11, f"X{colour}Pixel")(display, 0)) for colour in ("Black", "White"))
    window = word(x11.XCreateSimpleWindow(display, word(x11.XDefaultRootWindow(display)), 0, 0, width, height, 0, black,
                                          black))
    x11.XMapWindow(display, window)
    context = pointer(x11.XCreateGC(display, window, word(0), None))
    x11.XSync(display, 0)
    print(hex(window.value), flush=True)
    number, due = 0, time.monotonic()
    while True:
        code = code_of(number, time.monotonic_ns())
        for colour, wanted in ((white, True), (black, False)):
            found = rectangles(code, wanted)
            x11.XSetForeground(display, context, colour)
            x11.XFillRectangles(display, window, context, found, len(found))
        x11.XSync(display, 0)
        number += 1
        due += 1 / rate
        time.sleep(max(0, due - time.monotonic()))


if __name__ == "__main__":
    run(sys.argv[1], sys.argv[2], float(sys.argv[3]))
