"""Networks that go down, change, get narrow, lose, or drop what is large."""

import statistics
import subprocess
import sys
import time

from lab.faults.fault import Fault, Row
from lab.faults.pictures import Drawn
from lab.faults.place import Cable, Place, Relayed, Routed

# --- The interface and its addresses


class InterfaceDown(Fault):
    """The viewer's network interface is down for 1 s."""

    name = "down-1"
    short = True
    seconds = 1

    def play(self, place: Place, row: Row) -> None:
        place.both()
        row.begin()
        place.network.interrupt(self.seconds)
        row.over()
        row.wait_right(place)


class InterfaceDown5(InterfaceDown):
    """The viewer's network interface is down for 5 s."""

    name = "down-5"
    short = False
    says = {"viewer": True}
    seconds = 5


class InterfaceDown30(InterfaceDown):
    """The viewer's network interface is down for 30 s."""

    name = "down-30"
    short = False
    says = {"viewer": True}
    seconds = 30


class OtherDown(Fault):
    """The network interfaces of two other viewers are down for 10 s."""

    name = "others-down"
    stands_at_most = 1.0

    def play(self, place: Place, row: Row) -> None:
        place.network = Relayed(place, "delay=5ms")
        cable = Cable(place, host_at=())
        place.both()
        others = [place.another_viewer(cable) for _ in range(2)]
        for other in others:
            if not other.wait_for("first-frame"):
                raise RuntimeError(f"another viewer sees nothing: {other.error_text}")
        row.begin()
        cable.interrupt(10)
        row.over()
        row.wait_right(place)


class AddressChanged(Fault):
    """The viewer's IPv4 address changes, as when it moves to another access point."""

    name = "address-ipv4"
    right_within = 5.0
    old, new = f"{Cable.viewer_address}/24", "10.88.0.77/24"
    target = Cable.host_address

    def play(self, place: Place, row: Row) -> None:
        place.both(watch=[], target=self.target)
        row.begin()
        place.network.viewer_ip("address", "add", self.new, "dev", "lan0", *(["nodad"] if ":" in self.new else []))
        place.network.viewer_ip("address", "del", self.old, "dev", "lan0")
        if ":" not in self.new:
            # The first of a network is the primary one, with which the others go.
            place.network.viewer_ip("address", "replace", self.new, "dev", "lan0")
        row.over()
        row.wait_right(place)


class AddressChanged6(AddressChanged):
    """The viewer's IPv6 address changes, as when its router announces another prefix."""

    name = "address-ipv6"
    old, new = f"{Cable.viewer_address6}/64", "fd88::77/64"
    target = Cable.host_address6


class OnlyIPv6(InterfaceDown):
    """The network has IPv6 only; the viewer's interface is down for 2 s."""

    name = "only-ipv6"
    short = False
    seconds = 2

    def play(self, place: Place, row: Row) -> None:
        place.network = Cable(place, has_ipv4=False)
        super().play(place, row)


# --- The size of packets


class Size(Fault):
    """From the start a router on the path takes IP packets of 1280 bytes, and says so by ICMP."""

    name = "mtu-1280"
    right_within = 5.0
    size = 1280

    def play(self, place: Place, row: Row) -> None:
        place.network = Routed(place, self.size)
        place.share()
        row.begin()
        place.watch()
        row.wait_right(place, 20)


class Size576(Size):
    """From the start a router on the path takes IP packets of 576 bytes, and says so by ICMP."""

    name = "mtu-576"
    size = 576


class SizeChanges(Fault):
    """While streaming, a router on the path begins to take IP packets of 1280 bytes only, and says so by ICMP."""

    name = "mtu-1280-later"
    size = 1280

    def play(self, place: Place, row: Row) -> None:
        place.network = Routed(place, 1500)
        place.both()
        row.begin()
        place.network.set_size(self.size)
        row.wait_right(place)


class SizeChanges576(SizeChanges):
    """While streaming, a router on the path begins to take IP packets of 576 bytes only, and says so by ICMP."""

    name = "mtu-576-later"
    size = 576


class Silent(Fault):
    """From the start larger IP packets are dropped without a word: above {size} bytes."""

    right_within = 5.0
    size = 0

    @classmethod
    def title(cls) -> str:
        return f"From the start IP packets above {cls.size} bytes are dropped without a word."

    def play(self, place: Place, row: Row) -> None:
        place.network = Relayed(place, f"delay=5ms,size={self.size}")
        place.share()
        row.begin()
        place.watch()
        row.wait_right(place, 20)


class SilentLater(Silent):
    """While streaming, the path begins to drop larger IP packets without a word."""

    right_within = 2.0

    @classmethod
    def title(cls) -> str:
        return f"While streaming, the path begins to drop IP packets above {cls.size} bytes without a word."

    def play(self, place: Place, row: Row) -> None:
        place.network = Relayed(place, "delay=5ms")
        place.both()
        row.begin()
        place.network.change(f"size={self.size}")
        row.wait_right(place, 30)


SILENT = [type(f"{kind.__name__}{size}", (kind,), {"name": f"silent-{size}{ending}", "size": size})
          for kind, ending in ((Silent, ""), (SilentLater, "-later")) for size in (1492, 1420, 1280, 1260, 1000, 576)]

# --- Rate and loss


class DeepQueue(Fault):
    """The path carries 3 Mbit/s, behind a queue of 2 s."""

    name = "deep-queue"
    right_within = 5.0
    stands_at_most = 2.0

    def play(self, place: Place, row: Row) -> None:
        place.network = Relayed(place, "delay=5ms,rate=3M,queue=2s")
        place.share("-b", "10M", source=["--source", "pattern", "--size", "1280x720", "--max-fps", "30"])
        row.begin()
        place.watch(drawn=Drawn(1280, 720))
        row.wait_right(place, 20, 0.5)
        time.sleep(6)
        ages(place, row, time.monotonic() - 5, 0.3)


def ages(place: Place, row: Row, since: float, most: float) -> None:
    """The age of the pictures since then: how far they are behind the host."""
    found = sorted(picture.age for picture in place.pictures.drawn_since(since - 1) if picture.at >= since)
    if not found:
        return
    row.notes.append(f"pictures at the end: {len(found) / (time.monotonic() - since):.0f} a second, "
                     f"{statistics.median(found) * 1000:.0f} ms old, the oldest {found[-1] * 1000:.0f} ms")
    if statistics.median(found) > most:
        row.differences.append(f"the picture is {statistics.median(found):.1f} s behind")


class RateDrops(Fault):
    """The path carries 100, then 1 for 10 s, then 100 Mbit/s."""

    name = "rate-drops"
    stands_at_most = 2.0

    def play(self, place: Place, row: Row) -> None:
        place.network = Relayed(place, "delay=5ms,rate=100M,queue=200ms")
        place.both(["-b", "8M"])
        row.begin()
        place.network.change("rate=1M")
        time.sleep(10)
        ages(place, row, time.monotonic() - 4, 0.5)
        place.network.change("rate=100M")
        row.over()
        row.wait_right(place, 20, 0.5)


RECEIVE = "import socket;s=socket.create_connection(('{address}',9000));\nwhile s.recv(1<<16):pass"
SEND = ("import socket;l=socket.create_server(('{address}',9000));print(1,flush=True);s,_=l.accept();b=bytes(1<<16);\n"
        "while 1:s.sendall(b)")


class OtherFlow(Fault):
    """For 10 s a download by TCP shares the bottleneck of 8 Mbit/s."""

    name = "tcp-flow"
    stands_at_most = 1.0

    def play(self, place: Place, row: Row) -> None:
        place.network = network = Relayed(place, "delay=10ms,rate=8M,queue=100ms")
        place.both(["-b", "4M"])
        flows = []
        try:
            row.begin()
            for at, program in ((network.at_host, SEND), (network.at_viewer, RECEIVE)):
                words = [*at, sys.executable, "-c", program.format(address=network.host_address)]
                flows.append(subprocess.Popen(words, stdout=subprocess.PIPE, stderr=place.log))
                if program is SEND:
                    flows[0].stdout.readline()
            time.sleep(10)
            ages(place, row, time.monotonic() - 5, 0.5)
        finally:
            for flow in flows:
                flow.kill()
                flow.wait()
        row.over()
        row.wait_right(place)


class Far(Fault):
    """From the start the round trip takes 200 ms, and 2 % of packets are lost."""

    name = "far"
    right_within = 5.0
    stands_at_most = 1.5

    def play(self, place: Place, row: Row) -> None:
        place.network = Relayed(place, "delay=100ms,loss=2%")
        place.share()
        row.begin()
        place.watch()
        row.wait_right(place, 20)
        row.begun = time.monotonic()
        time.sleep(8)
        ages(place, row, time.monotonic() - 5, 0.7)


class Bursts(Fault):
    """From before the first packet, 10 % are lost in bursts of 8, with 20 ms each way: 20 seeds."""

    name = "bursts-joining"
    right_within = 2.0
    seeds = 20
    # Of the first picture, from the start of `watch`.
    median_within = 0.5
    viewer_can_speak = False

    def play(self, place: Place, row: Row) -> None:
        took = []
        for seed in range(1, self.seeds + 1):
            with type(place)(place, place.shared) as one:
                one.network = Relayed(one, "delay=20ms,loss=10%,burst=8", seed)
                one.share()
                begin = time.monotonic()
                viewer = one.watch()
                first = viewer.wait_for("first-frame", 40)
                took.append(first["at"] - begin if first else 40)
        row.right = max(took)
        row.notes.append(f"median {statistics.median(took):.2f} s, worst {max(took):.1f} s; "
                         + " ".join(f"{one:.1f}" for one in sorted(took)))
        if statistics.median(took) > self.median_within:
            row.differences.append(f"half of the first pictures take more than {self.median_within} s")


class Loss(Fault):
    """For 10 s, 60 % of packets are lost."""

    name = "loss-60"
    share = 60

    @classmethod
    def title(cls) -> str:
        return f"For 10 s, {cls.share} % of packets are lost."

    def play(self, place: Place, row: Row) -> None:
        place.network = Relayed(place, "delay=5ms")
        place.both()
        row.begin()
        place.network.change(f"loss={self.share}%")
        time.sleep(10)
        place.network.change("loss=0%")
        row.over()
        row.wait_right(place)


LOSSES = [Loss, *(type(f"Loss{share}", (Loss,), {"name": f"loss-{share}", "share": share}) for share in (80, 95))]
FAULTS = [InterfaceDown, InterfaceDown5, InterfaceDown30, OtherDown, AddressChanged, AddressChanged6, OnlyIPv6, Size,
          Size576, SizeChanges, SizeChanges576, *SILENT, DeepQueue, RateDrops, OtherFlow, Far, Bursts, *LOSSES]
