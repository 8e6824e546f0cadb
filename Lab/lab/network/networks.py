"""The networks of the table.

Delays are one-way and apply in both directions: a round trip takes twice as long. Loss, bursts, reordering and rates
also apply in each direction, so the viewer's reports suffer as frames do.
"""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Network:
    name: str
    title: str
    # The link from the beginning, also while the viewer joins.
    base: str
    # Additional settings once the viewer watches.
    then: str = ""
    # Changes, each with its time in seconds since measuring began.
    changes: tuple = ()
    # `video` stands for what moves, as --content says.
    content: str = "video"
    # The length of the measurement, if --seconds can't set it.
    seconds: float = 0

    @property
    def delay(self) -> float:
        """One-way delay in milliseconds."""
        word = next(word for word in self.base.split(",") if word.startswith("delay="))
        return float(word.removeprefix("delay=").removesuffix("ms"))

    def settings(self) -> list[str]:
        return [self.base, self.then, *(text for _, text in self.changes)]


NETWORKS = [
    Network("clean", "clean, 1 ms", "delay=1ms"),
    # The reference for the next one: the same delay without loss.
    Network("clean5", "clean, 5 ms", "delay=5ms"),
    Network("loss1", "1 % random, 5 ms", "delay=5ms", "loss=1%"),
    Network("loss5", "5 % random, 5 ms", "delay=5ms", "loss=5%"),
    Network("bursts", "10 % in bursts of 8, 20 ms", "delay=20ms", "loss=10%,burst=8"),
    Network("jitter", "30 ms of jitter, 2 % reordered", "delay=1ms", "jitter=30ms,hold=10ms,reorder=2%,by=10ms"),
    # A queue of 200 ms at each rate: 500 kB, and 50 kB.
    Network("drop", "20, then 2, then 20 Mbit/s", "delay=5ms,rate=20M,queue=200ms",
            changes=((5, "rate=2M"), (15, "rate=20M")), seconds=25),
    # A queue of one second, as on slow uplinks: sending too much builds up delay.
    Network("narrow", "500 kbit/s, still text", "delay=5ms,rate=500k,queue=64k", content="still", seconds=12),
    Network("down", "down for 3 s", "delay=5ms", changes=((4, "down"), (7, "up")), seconds=12),
    # Letters that are typed, which go as exact patches. At a small delay, so that what a loss costs isn't hidden in it.
    Network("typing1", "typing, 1 % random, 2 ms", "delay=2ms", "loss=1%", content="typing"),
    Network("typing5", "typing, 5 % random, 2 ms", "delay=2ms", "loss=5%", content="typing"),
    Network("typingbursts", "typing, 10 % in bursts of 8, 2 ms", "delay=2ms", "loss=10%,burst=8", content="typing"),
]
#: Those on which something moves.
MOVING = [network for network in NETWORKS if network.content == "video"]
TYPING = [network for network in NETWORKS if network.content == "typing"]
NAMES = [network.name for network in NETWORKS]


def named(name: str) -> Network:
    return next(network for network in NETWORKS if network.name == name)
