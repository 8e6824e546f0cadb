"""Network namespaces: the ends of a network."""

import contextlib
import ctypes
import os
import socket
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from typing import IO

from lab.common.processes import end
from lab.common.trouble import Trouble

CLONE_NEWNET = 0x40000000


@contextlib.contextmanager
def namespace(log: IO[str]) -> Iterator[int]:
    """A network namespace that exists as long as the process whose PID this yields."""
    process = subprocess.Popen(["unshare", "--net", "sh", "-c", "ip link set lo up && exec sleep infinity"],
                               stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
    try:
        own = os.readlink("/proc/self/ns/net")
        limit = time.monotonic() + 5
        while os.readlink(f"/proc/{process.pid}/ns/net") == own:
            if process.poll() is not None or time.monotonic() > limit:
                raise Trouble("This machine doesn't allow another network namespace.")
            time.sleep(0.01)
        yield process.pid
    finally:
        end(process)


def entering(pid: int) -> list[str]:
    """What a command begins with that runs in the network namespace of a process."""
    return ["nsenter", f"--net=/proc/{pid}/ns/net", "--"]


def socket_in(pid: int, kind: socket.SocketKind = socket.SOCK_DGRAM) -> socket.socket:
    """An IPv4 socket in the network namespace of a process."""
    made = []

    def make() -> None:
        # A separate thread enters the namespace, so that the calling thread stays in its own.
        with open(f"/proc/{pid}/ns/net") as file:
            if ctypes.CDLL(None, use_errno=True).setns(file.fileno(), CLONE_NEWNET) != 0:
                return
        made.append(socket.socket(socket.AF_INET, kind))

    thread = threading.Thread(target=make)
    thread.start()
    thread.join()
    if not made:
        raise Trouble("Another network namespace can't be entered here. Run it as root.")
    return made[0]


def run(*words: object) -> str:
    """What a command prints; Trouble if it fails."""
    command = list(map(str, words))
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise Trouble(f"“{' '.join(command)}” failed: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout


def ip(*words: object, at: Sequence[str] = ()) -> None:
    run(*at, "ip", *words)


def obstacle() -> str | None:
    """None if networks with the relay between them can be made here, otherwise what is missing."""
    if os.geteuid() != 0:
        return "Network namespaces, TUN devices and small disks want root."
    try:
        with open(os.devnull, "w") as log, namespace(log):
            pass
    except (OSError, Trouble) as trouble:
        return str(trouble)
    return None if os.path.exists("/dev/net/tun") else "There is no /dev/net/tun, which the relay needs."
