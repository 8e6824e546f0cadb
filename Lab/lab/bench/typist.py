"""Types letters over a page of lines on an X screen, for measurements of small changes.

usage: python3 -m lab.bench.typist DISPLAY WIDTHxHEIGHT RATE

Types until its input ends, and shows its page until it is ended.
"""

import ctypes
import random
import select
import signal
import sys
import time

LETTERS = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
# Of the server's font "fixed", with some room.
CELL = (8, 15)


def run(name: str, size: str, rate: float) -> None:
    x11, word, pointer = ctypes.CDLL("libX11.so.6"), ctypes.c_ulong, ctypes.c_void_p
    x11.XOpenDisplay.restype = x11.XCreateGC.restype = pointer
    x11.XDefaultRootWindow.restype = x11.XCreateSimpleWindow.restype = word
    display = pointer(x11.XOpenDisplay(name.encode()))
    if not display:
        sys.exit(f"There is no X server {name}.")
    width, height = map(int, size.split("x"))
    root = word(x11.XDefaultRootWindow(display))
    paper = word(0xFBF8F2)
    window = word(x11.XCreateSimpleWindow(display, root, 0, 0, width, height, 0, paper, paper))
    x11.XMapWindow(display, window)
    context = pointer(x11.XCreateGC(display, window, word(0), None))
    chance = random.Random(name)
    columns, rows = width // CELL[0], height // CELL[1]

    def draw(column: int, row: int, text: bytes) -> None:
        x11.XSetForeground(display, context, paper)
        x11.XFillRectangle(display, window, context, column * CELL[0], row * CELL[1], CELL[0] * len(text), CELL[1])
        x11.XSetForeground(display, context, word(chance.randrange(0x1000000) & 0x7F7F7F))
        x11.XDrawString(display, window, context, column * CELL[0], row * CELL[1] + 12, text, len(text))

    # The server maps the window before it draws into it, in the order of the requests.
    for row in range(rows):
        draw(0, row, bytes(chance.choices(LETTERS, k=columns)))
    x11.XSync(display, 0)
    due, place = time.monotonic(), 0
    while True:
        due += 1 / rate
        if select.select([sys.stdin], [], [], max(0, due - time.monotonic()))[0]:
            signal.pause()
        draw(place % columns, place // columns % rows, bytes(chance.choices(LETTERS, k=1)))
        x11.XSync(display, 0)
        place += 1


if __name__ == "__main__":
    run(sys.argv[1], sys.argv[2], float(sys.argv[3]))
