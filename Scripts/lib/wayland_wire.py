"""A Wayland client's connection, without a library: what the tests' small clients need of the protocol."""
import os
import socket
import struct
import sys

DISPLAY, REGISTRY = 1, 2


def string(text):
    data = text.encode() + b"\0"
    return struct.pack("=I", len(data)) + data.ljust((len(data) + 3) & ~3, b"\0")


def numbers(*values):
    return struct.pack(f"={len(values)}i", *values)


class Wire:
    """The display is object 1, the registry 2; others are numbered from 3 on."""

    def __init__(self):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(os.path.join(os.environ["XDG_RUNTIME_DIR"], os.environ["WAYLAND_DISPLAY"]))
        self._count = REGISTRY
        self._received = b""
        #: Called for each event with the object, the event's place in its interface, and its arguments.
        self.handle = lambda source, event, arguments: None
        self._globals = {}
        self.send(DISPLAY, 1, numbers(REGISTRY))
        self.round_trip()

    def new(self):
        self._count += 1
        return self._count

    def send(self, target, request, arguments=b"", descriptors=()):
        message = struct.pack("=IHH", target, request, 8 + len(arguments)) + arguments
        socket.send_fds(self.socket, [message], descriptors)

    def bind(self, interface, version):
        if interface not in self._globals:
            sys.exit(f"the compositor has no {interface}")
        made = self.new()
        self.send(REGISTRY, 0, numbers(self._globals[interface]) + string(interface) + numbers(version, made))
        return made

    def events(self):
        """What has come, after at least one read."""
        data = self.socket.recv(65536)
        if not data:
            sys.exit("the compositor has ended")
        self._received += data
        while len(self._received) >= 8:
            source, event, size = struct.unpack_from("=IHH", self._received)
            if len(self._received) < size:
                break
            arguments, self._received = self._received[8:size], self._received[size:]
            if (source, event) == (DISPLAY, 0):
                sys.exit(f"the compositor refuses: {arguments!r}")
            if (source, event) == (REGISTRY, 0):
                name, length = struct.unpack_from("=II", arguments)
                self._globals[arguments[8:7 + length].decode()] = name
            self.handle(source, event, arguments)
            yield source, event

    def round_trip(self):
        """Until the compositor has done all that was asked."""
        callback = self.new()
        self.send(DISPLAY, 0, numbers(callback))
        while (callback, 0) not in list(self.events()):
            pass
