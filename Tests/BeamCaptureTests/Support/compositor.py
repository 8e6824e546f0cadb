"""A Wayland compositor with one output, OUT-1, for the tests: as much of the protocol as is needed to capture it, and
faults that a real compositor has seldom.

usage: compositor.py SOCKET [NAME=VALUE …]

    size=64x48        of the output
    formats=1,0       of the memory that ext-image-copy-capture takes; empty: none of the processor's
    protocols=ext,wlr which ones it offers
    outputs=1         how many it announces; all but the first are off

Each line on standard input is a command, answered by “done”:

    paint X Y W H RRGGBB    draws, and answers a copy that waits for that
    resize W H              the output has another size; what was asked for with the old one fails
    formats LIST            other formats
    constraints W H         says this size, which isn't the output's
    turn NUMBER             of the pictures; the output goes on saying that it is upright
    fail COUNT REASON       so many copies fail
    stop                    ends the session
    hold, release           copies are asked for in vain, and no more
    nonsense                the next copy comes with impossible damage and an impossible time
    unplug, plug            the output goes, and comes back

What a client asks is written to standard output: “session”, “capture”, “copy” with what was asked.
"""
import mmap
import os
import selectors
import socket
import struct
import sys
import time

SHM, OUTPUT, COPIES, SOURCES, SCREENCOPY = 1, 100, 3, 4, 5
settings = {"size": "64x48", "formats": "1,0", "protocols": "ext,wlr", "outputs": "1"}
settings.update(argument.split("=", 1) for argument in sys.argv[2:])


def tell(*words):
    print(*words, flush=True)


class Screen:
    """What the output shows."""

    def __init__(self):
        self.number = OUTPUT
        self.turn = 0
        self.failures = []
        self.is_held = self.is_nonsense = False
        self.set_formats(settings["formats"])
        self.resize(*map(int, settings["size"].split("x")))

    def set_formats(self, text):
        self.formats = [int(number) for number in text.split(",") if number]

    def resize(self, width, height):
        self.width, self.height = width, height
        self.pixels = bytearray(struct.pack("<I", 0x204060) * (width * height))

    def paint(self, x, y, width, height, colour):
        row = struct.pack("<I", colour) * width
        for line in range(y, y + height):
            start = (line * self.width + x) * 4
            self.pixels[start:start + len(row)] = row

    def copy(self, rects, buffer):
        for x, y, width, height in rects:
            for line in range(y, min(y + height, self.height)):
                start = (line * self.width + x) * 4
                row = self.pixels[start:start + min(width, self.width - x) * 4]
                to = buffer["offset"] + line * buffer["stride"] + x * 4
                buffer["memory"][to:to + len(row)] = row

    @property
    def whole(self):
        return (0, 0, self.width, self.height)


def string(text):
    data = text.encode() + b"\0"
    return struct.pack("<I", len(data)) + data + b"\0" * (-len(data) % 4)


class Client:
    def __init__(self, connection):
        self.connection = connection
        self.objects = {1: {"kind": "display"}}
        self.input = b""
        self.descriptors = []
        self.registries = []

    def send(self, number, opcode, *arguments):
        data = b"".join(a if isinstance(a, bytes) else struct.pack("<I", a & 0xffffffff) for a in arguments)
        try:
            self.connection.sendall(struct.pack("<II", number, (8 + len(data)) << 16 | opcode) + data)
        except OSError:
            pass

    def error(self, number, text):
        tell("error", text)
        self.send(1, 0, number, 1, string(text))

    def read(self):
        data, descriptors, _, _ = socket.recv_fds(self.connection, 65536, 16)
        if not data:
            return False
        self.descriptors += descriptors
        self.input += data
        while len(self.input) >= 8:
            number, word = struct.unpack_from("<II", self.input)
            if len(self.input) < word >> 16:
                break
            message, self.input = self.input[8:word >> 16], self.input[word >> 16:]
            entry = self.objects.get(number)
            if entry:
                getattr(self, entry["kind"])(number, entry, word & 0xffff, message)
        return True

    def add(self, number, kind, **state):
        self.objects[number] = {"kind": kind, **state}

    def destroy(self, number):
        entry = self.objects.pop(number)
        if "memory" in entry:
            entry["memory"].close()
        self.send(1, 1, number)

    # --- the core ---

    def display(self, number, entry, opcode, message):
        new, = struct.unpack("<I", message)
        if opcode == 0:
            self.send(new, 0, 0)
            self.send(1, 1, new)
        else:
            self.registries.append(new)
            self.add(new, "registry")
            self.send(new, 0, SHM, string("wl_shm"), 1)
            if "ext" in settings["protocols"]:
                self.send(new, 0, COPIES, string("ext_image_copy_capture_manager_v1"), 1)
                self.send(new, 0, SOURCES, string("ext_output_image_capture_source_manager_v1"), 1)
            if "wlr" in settings["protocols"]:
                self.send(new, 0, SCREENCOPY, string("zwlr_screencopy_manager_v1"), 3)
            for index in range(int(settings["outputs"])):
                self.send(new, 0, screen.number + index, string("wl_output"), 4)

    def registry(self, number, entry, opcode, message):
        name, length = struct.unpack_from("<II", message)
        new, = struct.unpack_from("<I", message, 8 + (length + 3) // 4 * 4 + 4)
        kinds = {SHM: "memory", COPIES: "copies", SOURCES: "sources", SCREENCOPY: "screencopy"}
        self.add(new, kinds.get(name, "output"), name=name)
        if name >= OUTPUT:
            self.tell_output(new)

    def tell_output(self, number):
        index = self.objects[number]["name"] - screen.number
        self.send(number, 0, 0, 0, 0, 0, 0, string("make"), string("model"), 0)
        if index == 0:
            self.send(number, 1, 1, screen.width, screen.height, 60000)
        self.send(number, 4, string(f"OUT-{index + 1}"))
        self.send(number, 2)

    def output(self, number, entry, opcode, message):
        self.destroy(number)

    def memory(self, number, entry, opcode, message):
        new, size = struct.unpack("<II", message)
        self.add(new, "pool", descriptor=self.descriptors.pop(0), size=size)

    def pool(self, number, entry, opcode, message):
        if opcode == 0:
            new, offset, width, height, stride, form = struct.unpack("<IiiiiI", message)
            memory = mmap.mmap(entry["descriptor"], entry["size"])
            self.add(new, "buffer", memory=memory, offset=offset, width=width, height=height, stride=stride, format=form)
        else:
            os.close(entry["descriptor"])
            self.destroy(number)

    def buffer(self, number, entry, opcode, message):
        self.destroy(number)

    # --- ext-image-copy-capture ---

    def sources(self, number, entry, opcode, message):
        new, output = struct.unpack("<II", message)
        self.add(new, "source", is_there=self.objects.get(output, {}).get("name") == screen.number)

    def source(self, number, entry, opcode, message):
        self.destroy(number)

    def copies(self, number, entry, opcode, message):
        new, source, options = struct.unpack("<III", message)
        tell("session", options)
        self.add(new, "session", damage=[screen.whole], frame=None, is_stopped=False)
        if self.objects[source]["is_there"] and screen.number:
            self.constrain(new, screen.width, screen.height)
        else:
            self.stop(new)

    def constrain(self, number, width, height):
        self.send(number, 2, struct.pack("<IQ", 8, 0))
        for form in screen.formats:
            self.send(number, 1, form)
        self.send(number, 3, 0x34325258, struct.pack("<IQ", 8, 0))
        self.send(number, 0, width, height)
        self.send(number, 4)

    def stop(self, number):
        session = self.objects[number]
        session["is_stopped"] = True
        if session["frame"] and self.objects[session["frame"]]["is_asked"]:
            self.fail(session["frame"], 2)
        self.send(number, 5)

    def session(self, number, entry, opcode, message):
        if opcode == 1:
            return self.destroy(number)
        new, = struct.unpack("<I", message)
        if entry["frame"]:
            return self.error(number, "duplicate_frame")
        entry["frame"] = new
        self.add(new, "frame", session=number, buffer=None, rects=[], is_asked=False)

    def frame(self, number, entry, opcode, message):
        session = self.objects.get(entry["session"], {})
        if opcode == 0:
            if session.get("frame") == number:
                session["frame"] = None
            self.destroy(number)
        elif opcode == 1:
            entry["buffer"], = struct.unpack("<I", message)
        elif opcode == 2:
            rect = struct.unpack("<iiii", message)
            if min(rect[:2]) < 0 or min(rect[2:]) <= 0:
                return self.error(number, "invalid_buffer_damage")
            entry["rects"].append(rect)
        else:
            if not entry["buffer"] or entry["is_asked"]:
                return self.error(number, "no_buffer or already_captured")
            buffer = self.objects[entry["buffer"]]
            rects = " ".join("{}x{}+{}+{}".format(*rect[2:], *rect[:2]) for rect in entry["rects"])
            tell("capture", f"{buffer['width']}x{buffer['height']}", buffer["format"], rects or "-")
            entry["is_asked"] = True
            if session["is_stopped"]:
                self.fail(number, 2)
            else:
                self.answer(number, entry, session)

    def fail(self, number, reason):
        self.objects[number]["is_asked"] = False
        self.send(number, 4, reason)

    def answer(self, number, entry, session):
        """Makes the copy if there is something to copy."""
        if screen.is_held or not session["damage"]:
            return
        buffer = self.objects[entry["buffer"]]
        if screen.failures:
            return self.fail(number, screen.failures.pop())
        if (buffer["width"], buffer["height"]) != (screen.width, screen.height) or buffer["format"] not in screen.formats:
            return self.fail(number, 1)
        screen.copy(entry["rects"] + session["damage"], buffer)
        for rect in session["damage"]:
            self.send(number, 1, *rect)
        seconds, nanoseconds = divmod(time.monotonic_ns(), 1_000_000_000)
        high = 0
        if screen.is_nonsense:
            screen.is_nonsense = False
            top = 0x7fffffff
            for rect in [(-5, -5, -1, 3), (top, top, top, top), (-top, -top, top, top), (0, 0, 0, 0)]:
                self.send(number, 1, *rect)
            self.send(number, 0, 4_000_000_000)
            high, nanoseconds = 0xffffffff, 0xffffffff
        self.send(number, 0, screen.turn)
        self.send(number, 2, high, seconds, nanoseconds)
        session["damage"] = []
        entry["is_asked"] = False
        self.send(number, 3)

    # --- wlr-screencopy ---

    def screencopy(self, number, entry, opcode, message):
        new, _, output = struct.unpack("<IiI", message)
        self.add(new, "copy", waiting=None)
        self.send(new, 0, 1, screen.width, screen.height, screen.width * 4)
        self.send(new, 6)

    def copy(self, number, entry, opcode, message):
        if opcode == 1:
            return self.destroy(number)
        buffer, = struct.unpack("<I", message)
        tell("copy", "waits" if opcode == 2 else "-")
        entry["waiting"] = buffer
        if opcode == 0:
            self.answer_copy(number, entry)

    def answer_copy(self, number, entry):
        screen.copy([screen.whole], self.objects[entry["waiting"]])
        entry["waiting"] = None
        seconds, nanoseconds = divmod(time.monotonic_ns(), 1_000_000_000)
        self.send(number, 4, *screen.whole)
        self.send(number, 2, 0, seconds, nanoseconds)

    # --- what happens ---

    def all(self, kind):
        return [(number, entry) for number, entry in list(self.objects.items()) if entry["kind"] == kind]

    def damage(self, rect):
        for _, session in self.all("session"):
            session["damage"].append(rect)
        self.answer_all()
        for number, entry in self.all("copy"):
            if entry["waiting"]:
                self.answer_copy(number, entry)

    def answer_all(self):
        for number, entry in self.all("frame"):
            if entry["is_asked"] and entry["session"] in self.objects:
                self.answer(number, entry, self.objects[entry["session"]])

    def changed(self):
        """The output or its formats are others."""
        for number, entry in self.all("output"):
            if entry["name"] == screen.number:
                self.tell_output(number)
        for number, session in self.all("session"):
            if not session["is_stopped"]:
                self.constrain(number, screen.width, screen.height)
                session["damage"] = [screen.whole]
        self.answer_all()


def command(words):
    name, numbers = words[0], words[1:]
    if name == "paint":
        rect = tuple(map(int, numbers[:4]))
        screen.paint(*rect, int(numbers[4], 16))
        for client in clients:
            client.damage(rect)
    elif name in ("resize", "formats"):
        if name == "resize":
            screen.resize(*map(int, numbers))
        else:
            screen.set_formats(numbers[0] if numbers else "")
        for client in clients:
            client.changed()
    elif name == "constraints":
        for client in clients:
            for number, _ in client.all("session"):
                client.constrain(number, *map(int, numbers))
    elif name == "turn":
        screen.turn = int(numbers[0])
    elif name == "fail":
        screen.failures = [int(numbers[1])] * int(numbers[0])
    elif name == "stop":
        for client in clients:
            for number, _ in client.all("session"):
                client.stop(number)
    elif name in ("hold", "release"):
        screen.is_held = name == "hold"
        for client in clients:
            client.answer_all()
    elif name == "nonsense":
        screen.is_nonsense = True
    elif name in ("unplug", "plug"):
        former = screen.number
        screen.number = 0 if name == "unplug" else OUTPUT + 50
        for client in clients:
            if name == "unplug":
                for number, _ in client.all("session"):
                    client.stop(number)
            for registry in client.registries:
                if name == "unplug":
                    client.send(registry, 1, former)
                else:
                    client.send(registry, 0, screen.number, string("wl_output"), 4)
    tell("done")


screen = Screen()
clients = []
listener = socket.socket(socket.AF_UNIX)
listener.bind(sys.argv[1])
listener.listen()
selector = selectors.DefaultSelector()
selector.register(listener, selectors.EVENT_READ)
selector.register(sys.stdin, selectors.EVENT_READ)
tell("ready")
lines = b""
while True:
    for key, _ in selector.select():
        if key.fileobj is listener:
            client = Client(listener.accept()[0])
            clients.append(client)
            selector.register(client.connection, selectors.EVENT_READ, client)
        elif key.data:
            try:
                is_there = key.data.read()
            except OSError:
                is_there = False
            if not is_there:
                selector.unregister(key.fileobj)
                clients.remove(key.data)
                key.fileobj.close()
        else:
            data = os.read(0, 65536)
            if not data:
                sys.exit()
            *whole, lines = (lines + data).split(b"\n")
            for line in whole:
                command(line.decode().split())
