"""The link between the two ends: the kernel's netem if it has one, otherwise the relay."""

import contextlib
import functools
import json
import os
import signal
import subprocess
import threading
import time
from collections.abc import Sequence
from typing import IO, Any, Self

from lab.common.namespaces import entering, ip, namespace
from lab.common.processes import end
from lab.common.trouble import Trouble
from lab.network.networks import Network

HOST, VIEWER = "10.77.0.1", "10.77.0.2"
DEVICE = "netlab"


class Between:
    """A link for one run. `begin` starts the schedule; so does SIGUSR1 to `pid`."""

    kind = ""
    pid = 0

    def __init__(self) -> None:
        # The start of the schedule, and the times of its changes, in seconds of CLOCK_MONOTONIC.
        self.changes = []
        self.counters = {}

    def begin(self) -> None:
        os.kill(self.pid, signal.SIGUSR1)


class Relay(Between):
    kind = "relay"

    def __init__(self, log: IO[str], viewer_end: int, base: str, schedule: Sequence[tuple[float, str]] = (),
                 seed: int = 1, number: int = 0, limit: float | None = 600) -> None:
        """From this network namespace to that of the process `viewer_end`. The two ends are 10.77.NUMBER.1 and .2."""
        super().__init__()
        # Ends by itself if nothing else ends it, after `limit` seconds.
        self.command = [os.environ["BEAMROOM_RELAY"], "/proc/self/ns/net", f"/proc/{viewer_end}/ns/net",
                        "--both", base, "--seed", str(seed), "--time-limit", str(limit), "--number", str(number),
                        "--lines"]
        for after, settings in schedule:
            self.command += ["--at", f"{after}:{settings}"]
        self.log = log

    def __enter__(self) -> Self:
        self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log,
                                        text=True, start_new_session=True)
        self.pid = self.process.pid
        if not self.process.stdout.readline():
            end(self.process)
            raise Trouble("The relay between the two ends didn't start: it needs root and /dev/net/tun.")
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()
        return self

    def change(self, settings: str) -> None:
        """Changes the link now."""
        self.process.stdin.write(f"{settings}\n")
        self.process.stdin.flush()

    def _read(self) -> None:
        for line in self.process.stdout:
            event = json.loads(line)
            if event["event"] == "changed":
                self.changes.append((event["time"], event["settings"]))
            elif event["event"] == "summary":
                self.counters = event

    def end(self) -> None:
        """Ends it: after that its counters are known."""
        end(self.process)
        self.reader.join(5)

    def __exit__(self, *_: object) -> None:
        self.end()


class Netem(Between):
    """A bridge in a namespace of its own, with netem, and tbf behind it, on both its sides.

    In the middle and not at the ends: a queue at an end holds segments that the kernel splits later, so it would lose
    dozens of packets at once.
    """

    kind = "netem"

    def __init__(self, log: IO[str], viewer_end: int, base: str, schedule: Sequence[tuple[float, str]] = ()) -> None:
        super().__init__()
        self.log, self.viewer_end = log, viewer_end
        self.state = read(base)
        self.schedule = schedule
        # Not every netem takes a seed, so the losses differ in each run.
        self.pid = os.getpid()
        self.timers = []

    def __enter__(self) -> Self:
        stack = self.stack = contextlib.ExitStack()
        try:
            middle = stack.enter_context(namespace(self.log))
            self.inside = entering(middle)
            ip("link", "add", "bridge", "type", "bridge", at=self.inside)
            ip("link", "set", "bridge", "up", at=self.inside)
            ends = ((os.getpid(), [], HOST), (self.viewer_end, entering(self.viewer_end), VIEWER))
            for number, (pid, at, address) in enumerate(ends):
                ip("link", "add", f"side{number}", "type", "veth", "peer", "name", DEVICE, "netns", pid, at=self.inside)
                ip("link", "set", f"side{number}", "master", "bridge", "gso_max_segs", 1, "up", at=self.inside)
                ip("address", "add", f"{address}/30", "dev", DEVICE, at=at)
                ip("link", "set", DEVICE, "gso_max_segs", 1, "up", at=at)
            stack.callback(signal.signal, signal.SIGUSR1, signal.signal(signal.SIGUSR1, self._begin))
            stack.callback(lambda: [timer.cancel() for timer in self.timers])
            self._apply()
        except BaseException:
            stack.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for number, way in ((1, "forward"), (0, "back")):
            self.counters[way] = self._counted(number)
        self.stack.close()

    def _begin(self, *_: object) -> None:
        for after, settings in self.schedule:
            timer = threading.Timer(after, self._change, [settings])
            timer.daemon = True
            timer.start()
            self.timers.append(timer)

    def _change(self, settings: str) -> None:
        self.state.update(read(settings))
        self._apply()
        self.changes.append((time.monotonic(), settings))

    def _tc(self, *words: str) -> subprocess.CompletedProcess:
        return subprocess.run([*self.inside, "tc", *words], capture_output=True, text=True)

    def _apply(self) -> None:
        netem, tbf = tc_words(self.state)
        for side in ("side0", "side1"):
            run = self._tc("qdisc", "replace", "dev", side, "root", "handle", "1:", *netem)
            if run.returncode == 0 and tbf:
                run = self._tc("qdisc", "replace", "dev", side, "parent", "1:1", "handle", "10:", *tbf)
            elif run.returncode == 0:
                # It may not exist.
                self._tc("qdisc", "delete", "dev", side, "parent", "1:1")
            if run.returncode != 0:
                raise Trouble(f"netem can't do this here: {run.stderr.strip()}")

    def _counted(self, number: int) -> dict[str, Any]:
        run = self._tc("-s", "-j", "qdisc", "show", "dev", f"side{number}")
        found = {"lost": 0, "queue": 0}
        for qdisc in json.loads(run.stdout or "[]"):
            key = {"netem": "lost", "tbf": "queue"}.get(qdisc["kind"])
            if key:
                found[key] += qdisc.get("drops", 0)
        return found


def read(text: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for word in filter(None, text.split(",")):
        name, _, value = word.partition("=")
        if name in ("down", "up"):
            found["down"] = name == "down"
        else:
            found[name] = value
    return found


def suits_netem(settings: Sequence[str]) -> bool:
    """netem's jitter reorders packets, and its reordering sends them without delay; the relay does such links."""
    return all(not {"jitter", "reorder"} & set(read(text)) for text in settings)


def amount(text: str) -> float:
    """Parses a number of bytes or bits with k or M."""
    factor = {"k": 1e3, "M": 1e6, "G": 1e9}.get(text[-1], 1)
    return float(text.rstrip("kMG")) * factor


def tc_words(state: dict[str, Any]) -> tuple[list[str], list[str] | None]:
    """The settings as arguments of netem, and of tbf if there is a rate."""
    netem = ["netem", "limit", "100000", "delay", state.get("delay", "0ms")]
    share = float(state.get("loss", "0%").removesuffix("%")) / 100
    burst = float(state.get("burst", 1))
    if state.get("down"):
        netem += ["loss", "100%"]
    elif share and burst > 1:
        enter = share / burst / (1 - share)
        netem += ["loss", "gemodel", f"{100 * enter:.4f}%", f"{100 / burst:.4f}%", "100%", "0%"]
    elif share:
        netem += ["loss", f"{100 * share:.4f}%"]
    if "duplicate" in state:
        netem += ["duplicate", state["duplicate"]]
    rate = amount(state.get("rate", "0"))
    if not rate:
        return netem, None
    queue = state.get("queue", "200ms")
    limit = rate / 8 * float(queue.removesuffix("ms")) / 1000 if queue.endswith("ms") else amount(queue)
    return netem, ["tbf", "rate", f"{rate:.0f}bit", "burst", "3000", "limit", f"{limit:.0f}"]


@functools.cache
def has_netem() -> bool:
    """Tested in a temporary namespace."""
    script = ("ip link add netlab0 type veth peer name netlab1"
              " && tc qdisc add dev netlab0 root handle 1: netem delay 1ms"
              " && tc qdisc add dev netlab0 parent 1:1 handle 10: tbf rate 1mbit burst 3000 limit 9000"
              " && ip link add bridge type bridge")
    return subprocess.run(["unshare", "--net", "sh", "-c", script], capture_output=True).returncode == 0


def link(network: Network, log: IO[str], viewer_end: int, seed: int = 1, prefers_relay: bool = False,
         limit: float | None = 600) -> Relay | Netem:
    """The link of a network: netem where the kernel has one that can do it. `begin` starts what isn't from the beginning."""
    schedule = [*([(0, network.then)] if network.then else []), *network.changes]
    if not prefers_relay and suits_netem(network.settings()) and has_netem():
        return Netem(log, viewer_end, network.base, schedule)
    return Relay(log, viewer_end, network.base, schedule, seed, limit=limit)


class Meter:
    """Samples the counters of each end's device ten times a second, for every kind of link."""

    def __init__(self, viewer_end: int) -> None:
        self.files = {"host": "/proc/self/net/dev", "viewer": f"/proc/{viewer_end}/net/dev"}
        # (time, bytes and packets that the host sent, bytes and packets that the viewer got)
        self.samples = []
        self.stopping = threading.Event()

    def __enter__(self) -> Self:
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stopping.set()
        self.thread.join(5)

    def _run(self) -> None:
        while not self.stopping.wait(0.1):
            host, viewer = self._numbers("host"), self._numbers("viewer")
            if host and viewer:
                self.samples.append((time.monotonic(), host[8], host[9], viewer[0], viewer[1]))

    def _numbers(self, name: str) -> list[int] | None:
        with contextlib.suppress(OSError):
            for line in open(self.files[name]):
                device, _, rest = line.partition(":")
                if device.strip() == DEVICE:
                    return [int(word) for word in rest.split()]
        return None

    def at(self, moment: float) -> Sequence[float] | None:
        """The counters at a time, interpolated between samples."""
        before = after = None
        for sample in self.samples:
            if sample[0] <= moment:
                before = sample
            elif after is None:
                after = sample
        if before is None or after is None:
            return before or after
        part = (moment - before[0]) / (after[0] - before[0])
        return tuple(one + part * (other - one) for one, other in zip(before, after))

    def mbit(self, begin: float, end: float, viewer: bool = True) -> float | None:
        """Megabits of IP packets a second between two moments; None if nothing was counted."""
        first, last = self.at(begin), self.at(end)
        if first is None or last is None or last[0] <= first[0]:
            return None
        place = 3 if viewer else 1
        return (last[place] - first[place]) * 8e-6 / (end - begin)
