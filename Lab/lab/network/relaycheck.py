"""Scripts/netlab --check: checks that the relay does what is set, by numbered packets."""

import itertools
import os
import signal
import socket
import statistics
import struct
import subprocess
import sys
import threading
import time
from typing import Self

from lab.common.namespaces import namespace, socket_in
from lab.common.trouble import Trouble
from lab.network import links

PORT = 7000
SO_RCVBUFFORCE = 33


class Link:
    """The relay between two sockets."""

    def __init__(self, viewer_end: int, *options: str) -> None:
        self.command = [os.environ["BEAMROOM_RELAY"], "/proc/self/ns/net", f"/proc/{viewer_end}/ns/net", "--time-limit",
                        "60", *options]
        self.viewer_end = viewer_end
        self.arrivals = []

    def __enter__(self) -> Self:
        self.relay = subprocess.Popen(self.command, stdout=subprocess.PIPE, text=True)
        if not self.relay.stdout.readline():
            raise Trouble("The relay didn't start: it needs root and /dev/net/tun.")
        self.host, self.viewer = socket_in(os.getpid()), socket_in(self.viewer_end)
        for one, address in ((self.host, links.HOST), (self.viewer, links.VIEWER)):
            one.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 1 << 26)
            one.setsockopt(socket.SOL_SOCKET, 32, 1 << 26)  # SO_SNDBUFFORCE
            one.bind((address, PORT))
            one.settimeout(0.2)
        return self

    def __exit__(self, *_: object) -> None:
        self.relay.terminate()
        self.relay.communicate(timeout=5)
        self.host.close()
        self.viewer.close()

    def begin(self) -> None:
        self.relay.send_signal(signal.SIGUSR1)

    def send(self, count: int, size: int = 100, every: float = 0.0, back: bool = False,
             patience: float = 0.5) -> list[tuple[int, float, float]]:
        """Sends numbered packets of `size` bytes with headers; returns (number, sent, arrived) of each received."""
        source, target, address = ((self.viewer, self.host, links.HOST) if back
                                   else (self.host, self.viewer, links.VIEWER))
        arrivals, done = [], threading.Event()

        def collect() -> None:
            quiet = time.monotonic()
            while not done.is_set() or time.monotonic() < quiet + patience:
                try:
                    data = target.recv(2048)
                except TimeoutError:
                    continue
                quiet = time.monotonic()
                arrivals.append((*struct.unpack_from("!Id", data), quiet))

        thread = threading.Thread(target=collect)
        thread.start()
        filling, begin = bytes(size - 28 - 12), time.monotonic()
        for number in range(count):
            pause = begin + number * every - time.monotonic()
            if every and pause > 0:
                time.sleep(pause)
            elif not every and number % 100 == 99:
                time.sleep(0.001)
            source.sendto(struct.pack("!Id", number, time.monotonic()) + filling, (address, PORT))
        done.set()
        thread.join()
        return arrivals


class Checks:
    def __init__(self, viewer_end: int) -> None:
        self.viewer_end = viewer_end
        self.failures = 0

    def link(self, *options: str) -> Link:
        return Link(self.viewer_end, *options)

    def expect(self, what: str, value: float, least: float, most: float) -> None:
        is_met = least <= value <= most
        self.failures += not is_met
        print(f"{'ok    ' if is_met else 'FAILED'}  {what}: {value:.4g}, expected {least:g} to {most:g}", flush=True)

    def transparent(self) -> None:
        with self.link() as link:
            for back in (False, True):
                numbers = [number for number, *_ in link.send(2000, size=1500, back=back)]
                self.expect(f"nothing set, {'back' if back else 'forward'}: packets in order",
                            sum(one == place for place, one in enumerate(numbers)), 2000, 2000)

    def delay(self) -> None:
        with self.link("--forward", "delay=20ms", "--back", "delay=5ms") as link:
            for back, wanted in ((False, 20), (True, 5)):
                taken = [1000 * (came - sent) for _, sent, came in link.send(200, every=0.002, back=back)]
                self.expect(f"delay of {wanted} ms: the least", min(taken), wanted, wanted + 1)
                self.expect(f"delay of {wanted} ms: median", statistics.median(taken), wanted, wanted + 5)

    def lost(self, settings: str, seed: int, count: int) -> list[int]:
        with self.link("--both", settings, "--seed", str(seed)) as link:
            return sorted(set(range(count)) - {number for number, *_ in link.send(count)})

    def loss(self) -> None:
        first, again, other = (self.lost("loss=5%", seed, 10000) for seed in (1, 1, 2))
        self.expect("loss of 5 %: per cent", len(first) / 100, 4.3, 5.7)
        self.expect("the same seed: packets that differ", len(set(first) ^ set(again)), 0, 0)
        self.expect("another seed: packets that differ", len(set(first) ^ set(other)), 500, 1500)

    def bursts(self) -> None:
        count = 40000
        lost = self.lost("loss=10%,burst=8", 1, count)
        runs = 1 + sum(later - earlier > 1 for earlier, later in itertools.pairwise(lost))
        self.expect("10 % in bursts of 8: per cent", 100 * len(lost) / count, 8, 12)
        self.expect("10 % in bursts of 8: packets a burst", len(lost) / runs, 6.8, 9.2)

    def rate(self) -> None:
        with self.link("--both", "rate=10M,queue=4M") as link:
            # 8 Mbit/s with all headers.
            moments = [came for *_, came in link.send(1000, size=1000)]
            self.expect("rate of 10 Mbit/s: packets", len(moments), 1000, 1000)
            self.expect("rate of 10 Mbit/s: seconds for 8 Mbit", moments[-1] - moments[0], 0.77, 0.85)

    def queue(self) -> None:
        for settings, name in (("rate=1M,queue=20k", "20 kB"), ("rate=1M,queue=160ms", "160 ms")):
            with self.link("--both", settings) as link:
                # 20 wait in the queue, and one or two leave meanwhile.
                came = len(link.send(100, size=1000))
                self.expect(f"a queue of {name} at 1 Mbit/s, 100 kB at once: kB", came, 20, 23)

    def changes(self) -> None:
        options = ["--both", "rate=8M,queue=2M", "--at", "0.5:rate=2M", "--at", "1:rate=8M"]
        with self.link(*options) as link:
            begin = time.monotonic()
            link.begin()
            moments = [came - begin for *_, came in link.send(1500, size=1000)]
            for first, last, wanted in ((0.1, 0.5, 400), (0.5, 1, 125), (1, 1.4, 400)):
                self.expect(f"8, 2, 8 Mbit/s: packets of 1 kB from {first} to {last} s",
                            sum(first <= one < last for one in moments), wanted * 0.85, wanted * 1.15)

    def down(self) -> None:
        with self.link("--at", "0.3:down", "--at", "0.8:up") as link:
            begin = time.monotonic()
            link.begin()
            sent = {round(sent - begin, 4) for _, sent, _ in link.send(240, every=0.005)}
            self.expect("down from 0.3 to 0.8 s: packets before", sum(one < 0.29 for one in sent), 50, 59)
            self.expect("down from 0.3 to 0.8 s: packets meanwhile", sum(0.32 < one < 0.79 for one in sent), 0, 0)
            self.expect("down from 0.3 to 0.8 s: packets after", sum(one > 0.82 for one in sent), 60, 80)

    def order(self) -> None:
        with self.link("--both", "delay=5ms,jitter=30ms,hold=10ms") as link:
            arrivals = link.send(1000, every=0.001)
            numbers = [number for number, *_ in arrivals]
            taken = sorted(1000 * (came - sent) for _, sent, came in arrivals)
            self.expect("jitter of 30 ms: packets out of order", sum(map(int.__gt__, numbers, numbers[1:])), 0, 0)
            self.expect("jitter of 30 ms over 5: the least", taken[0], 5, 10)
            self.expect("jitter of 30 ms over 5: median", statistics.median(taken), 14, 32)
            self.expect("jitter of 30 ms over 5: 98 of 100 within", taken[980], 26, 40)
        with self.link("--both", "delay=5ms,reorder=5%,by=10ms") as link:
            numbers = [number for number, *_ in link.send(3000, every=0.0005)]
            late = sum(number < most for number, most in zip(numbers, itertools.accumulate(numbers, max)))
            self.expect("5 % reordered: all arrive", len(numbers), 3000, 3000)
            self.expect("5 % reordered: per cent overtaken", late / 30, 3.8, 6.2)

    def size(self) -> None:
        with self.link("--both", "size=1000") as link:
            for size, wanted in ((1000, 500), (1001, 0)):
                self.expect(f"packets of {size} bytes where 1000 pass", len(link.send(500, size=size)), wanted, wanted)

    def duplicates(self) -> None:
        with self.link("--both", "duplicate=10%") as link:
            numbers = [number for number, *_ in link.send(3000)]
            self.expect("10 % duplicated: packets in all", len(numbers), 3200, 3400)
            self.expect("10 % duplicated: different ones", len(set(numbers)), 3000, 3000)


def run() -> int:
    with namespace(sys.stderr) as viewer_end:
        checks = Checks(viewer_end)
        for check in (checks.transparent, checks.delay, checks.loss, checks.bursts, checks.rate, checks.queue,
                      checks.changes, checks.down, checks.size, checks.order, checks.duplicates):
            check()
    print("The relay does what it is told." if checks.failures == 0 else f"{checks.failures} failed.")
    return 0 if checks.failures == 0 else 1
