"""The networks of the table, and what is to be reached in each.

A delay is that of one direction, and both have it: a round trip takes twice as long. Loss, bursts, reordering and rates
are those of each direction as well, so the viewer's reports suffer as frames do.
"""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Network:
    name: str
    title: str
    # What the link does from the beginning: while the viewer joins, too.
    base: str
    # What it does in addition once the viewer watches.
    then: str = ""
    # Changes, in seconds since measuring began.
    changes: tuple = ()
    content: str = "video"
    # How long it is measured, where --seconds can't say.
    seconds: float = 0

    @property
    def delay(self):
        """In milliseconds, one way."""
        word = next(word for word in self.base.split(",") if word.startswith("delay="))
        return float(word.removeprefix("delay=").removesuffix("ms"))

    def settings(self):
        return [self.base, self.then, *(text for _, text in self.changes)]


NETWORKS = [
    Network("clean", "clean, 1 ms", "delay=1ms"),
    # What the next one is compared with: as far, and nothing is lost.
    Network("clean5", "clean, 5 ms", "delay=5ms"),
    Network("loss1", "1 % random, 5 ms", "delay=5ms", "loss=1%"),
    Network("loss5", "5 % random, 5 ms", "delay=5ms", "loss=5%"),
    Network("bursts", "10 % in bursts of 8, 20 ms", "delay=20ms", "loss=10%,burst=8"),
    Network("jitter", "30 ms of jitter, 2 % reordered", "delay=1ms", "jitter=30ms,hold=10ms,reorder=2%,by=10ms"),
    # A queue of 200 ms at whatever rate there is: 500 kB, and 50 kB.
    Network("drop", "20, then 2, then 20 Mbit/s", "delay=5ms,rate=20M,queue=200ms",
            changes=((5, "rate=2M"), (15, "rate=20M")), seconds=25),
    # A second's worth of queue, as slow uplinks have it: there is delay to be built up by whoever sends too much.
    Network("narrow", "500 kbit/s, still text", "delay=5ms,rate=500k,queue=64k", content="still", seconds=12),
    Network("down", "down for 3 s", "delay=5ms", changes=((4, "down"), (7, "up")), seconds=12),
]
NAMES = [network.name for network in NETWORKS]


def named(name):
    return next(network for network in NETWORKS if network.name == name)
