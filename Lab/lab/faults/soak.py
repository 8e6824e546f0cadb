"""Scripts/soak: a host and four viewers for as long as you like, while faults happen by a seeded schedule."""

import argparse
import dataclasses
import functools
import json
import os
import pathlib
import random
import signal
import sys
import tempfile
import time
import types
from collections.abc import Callable, Sequence
from typing import Any

from lab.common import isolation, pages
from lab.common.programs import Program
from lab.common.trouble import main
from lab.faults import growth
from lab.faults.pictures import Pictures
from lab.faults.place import Cable, Place, Relayed, run_inside

SAMPLE_EVERY = 5.0
# Seconds of a standing picture that are a stall.
STALL = 1.5
# Seconds after a fault in which a stall is still its consequence.
GRACE = 6.0


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="Scripts/soak")
    parser.add_argument("minutes", type=float, nargs="?", help="how long (at least 0.5)")
    parser.add_argument("--seed", type=int, default=1, help="of the schedule (1)")
    parser.add_argument("--program", metavar="PATH", help="the beamroom to try")
    parser.add_argument("--json", metavar="FILE", help="write samples, faults and stalls there, too")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.minutes is None or not 0.5 <= options.minutes <= 24 * 60:
        parser.error("the minutes have to be 0.5 to 1440")
    return options


# --- What happens -----------------------------------------------------------------------------------------------------


@dataclasses.dataclass
class Happening:
    """A fault of the schedule, and who feels it."""

    name: str
    whom: tuple
    begin: float
    end: float


class Soak(Place):
    """The host, its viewers, and what was seen of them."""

    def __init__(self, options: Any, shared: pathlib.Path) -> None:
        super().__init__(types.SimpleNamespace(program=options.program, is_short=False), shared)
        self.options = options
        self.random = random.Random(options.seed)
        self.viewers, self.samples, self.happenings, self.trouble = {}, {}, [], []
        # Programs that ended by themselves.
        self.ended = []
        self.sources = {}
        self.coming: Program | None = None
        self.comings = 0

    # --- The programs

    def begin(self) -> None:
        # The host is in the namespace of the relay; a cable leads to the other viewers.
        self.cable = Cable(self, host_at=())
        self.lossy = Relayed(self, "delay=10ms,loss=2%,rate=20M,queue=200ms", self.options.seed, number=5)
        self.network = self.lossy
        self.paired()
        self.share("--bind", "::")
        display, self.screen_pid = self.screen()
        for name, network, words in (
                ("window", self.cable, ["--display", display, "--renderer", "software"]),
                ("recording", self.cable, ["--no-window", "--record", self.directory / "talk.mkv"]),
                ("lossy", self.lossy, ["--no-window"])):
            self.add(name, network, words)
        begin = time.monotonic()
        for name, source in self.sources.items():
            if not self.wait(functools.partial(source.right, begin), 20):
                raise RuntimeError(f"{name} sees nothing: {self.viewers[name].error_text} {self.host.error_text}")

    def add(self, name: str, network: Any, words: Sequence[object]) -> None:
        self.sources[name] = Pictures(self.directory / name)
        self.viewers[name] = self.start(name, network.at_viewer, [
            "watch", network.host_address, "--json", "--frames", self.sources[name].path, *words], self.state("viewer"))

    def come_and_go(self, now: float) -> None:
        """The fourth viewer: it watches for some seconds, and leaves or is killed."""
        if self.coming is None:
            self.comings += 1
            self.coming = self.start("guest", self.cable.at_viewer, [
                "watch", self.cable.host_address, "--json", "--no-window"], self.guest_state())
            self.leaves = now + self.random.uniform(2, 12)
        elif now >= self.leaves:
            guest, self.coming = self.coming, None
            self.programs.remove(guest)
            if guest.fate:
                self.ended.append(f"the viewer that comes and goes: {guest.fate}: {guest.error_text.strip()[-300:]}")
            elif not guest.named("first-frame"):
                self.expects_reason(self.leaves - 2, now, "guest", "the viewer that comes and goes had no picture")
            if self.random.random() < 0.3:
                guest.process.kill()
            guest.end()
            self.pause = now + self.random.uniform(0.5, 4)

    def guest_state(self) -> pathlib.Path:
        # Always the same device, as with a person who comes and goes.
        if not hasattr(self, "guest"):
            self.guest, self.pause = self.state("viewer"), 0
        return self.guest

    # --- Faults

    def faults(self) -> list[Any]:
        """Name, whom it touches, seconds, and what begins and ends it."""
        def ip(words: str) -> Callable[[], object]:
            return lambda: self.cable.viewer_ip("link", "set", "lan0", words)

        def link(settings: str) -> Callable[[], object]:
            return lambda: self.lossy.change(settings)

        def to(program: Program, number: int) -> Callable[[], object]:
            return lambda: os.kill(program.pid, number)

        near = ("window", "recording", "guest")
        return [
            ("the cable is cut", near, 3, ip("down"), ip("up")),
            ("the lossy path loses 30 %", ("lossy",), 8, link("loss=30%"), link("loss=2%")),
            ("the lossy path loses 10 % in bursts", ("lossy",), 10, link("loss=10%,burst=8"), link("loss=2%,burst=1")),
            ("the lossy path is down", ("lossy",), 4, link("down"), link("up")),
            ("the lossy path carries 1 Mbit/s", ("lossy",), 10, link("rate=1M"), link("rate=20M")),
            ("the lossy path takes 150 ms more", ("lossy",), 8, link("delay=160ms"), link("delay=10ms")),
            ("the host stands still", (*near, "lossy"), 3, to(self.host, signal.SIGSTOP),
             to(self.host, signal.SIGCONT)),
            *((f"{name} stands still", (name,), 4, to(viewer, signal.SIGSTOP), to(viewer, signal.SIGCONT))
              for name, viewer in self.viewers.items()),
        ]

    def run(self) -> None:
        begin = now = time.monotonic()
        end, sampled, ending, told = begin + 60 * self.options.minutes, 0.0, None, begin
        next_fault = begin + 10
        self.pause = 0.0
        while now < end and not self.has_ended():
            if now - sampled >= SAMPLE_EVERY:
                sampled = now
                self.take_samples()
            if ending and now >= self.happenings[-1].end:
                ending()
                self.happenings[-1].end = time.monotonic()
                ending, next_fault = None, now + self.random.uniform(8, 20)
            elif not ending and now >= next_fault and now < end - 25:
                name, whom, seconds, start, ending = self.random.choice(self.faults())
                self.happenings.append(Happening(name, whom, now, now + seconds))
                start()
            if self.coming or now >= self.pause:
                self.come_and_go(now)
            if now - told >= 60:
                told = now
                print(f"{(now - begin) / 60:.0f} min: {len(self.happenings)} faults, {self.comings} guests; host "
                      f"{self.samples['host'][-1].memory:.1f} MiB, {self.samples['host'][-1].threads} threads",
                      flush=True)
            time.sleep(0.1)
            now = time.monotonic()
        if ending:
            ending()
            self.happenings[-1].end = time.monotonic()
        self.began, self.finished = begin, now

    def has_ended(self) -> bool:
        """Whether a program that should run has ended."""
        for name, program in (("host", self.host), *self.viewers.items()):
            if program.process.poll() is not None:
                self.ended.append(f"{name}: {program.fate}: {program.error_text.strip()[-500:]}")
        return bool(self.ended)

    def take_samples(self) -> None:
        for name, program in (("host", self.host), *self.viewers.items()):
            found = growth.sample(program.pid)
            if found:
                self.samples.setdefault(name, []).append(found)

    # --- What came of it

    def reason(self, begin: float, end: float, whom: str) -> str | None:
        """The fault that explains that `whom` had no picture."""
        for one in self.happenings:
            if whom in one.whom and begin < (one.end or end) + GRACE and end > one.begin:
                return one.name
        return None

    def expects_reason(self, begin: float, end: float, whom: str, words: Sequence[object]) -> None:
        if not self.reason(begin, end, whom):
            self.trouble.append(f"{words} ({begin - self.happenings[0].begin if self.happenings else 0:.0f} s)")

    def stalls(self) -> list[Any]:
        """Each time that a viewer had no new picture for longer than STALL: whom, from when, how long, why."""
        found = []
        for name, source in self.sources.items():
            moments = [self.began, *(one.at for one in list(source.all) if one.number is not None
                                     and self.began <= one.at <= self.finished), self.finished]
            for before, after in zip(moments, moments[1:]):
                if after - before > STALL:
                    found.append((name, before - self.began, after - before, self.reason(before, after, name)))
        return found

    def report(self) -> int:
        stalls = self.stalls()
        begin = self.began + min(300, (self.finished - self.began) / 10)
        print(f"\n{(self.finished - self.began) / 60:.1f} min, seed {self.options.seed}: {len(self.happenings)} "
              f"faults, {self.comings} comings of the guest; growth from {(begin - self.began) / 60:.1f} min on:")
        for name, samples in self.samples.items():
            for one in growth.growths(samples, begin):
                print(f"  {name:<10} {one.what:<12} {one.first:8.1f} → {one.last:8.1f}   {one.an_hour:+8.2f} "
                      f"{growth.UNITS[one.what]} an hour{'' if one.is_flat else '   GROWS'}")
                if not one.is_flat:
                    self.trouble.append(
                        f"{name}: {one.what} grows by {one.an_hour:.1f} {growth.UNITS[one.what]} an hour")
        longest = {}
        for name, at, seconds, reason in stalls:
            if reason is None:
                self.trouble.append(
                    f"{name}: no new picture for {seconds:.1f} s, {at:.0f} s after the start, without a fault")
            else:
                count, most = longest.get((reason, name), (0, 0))
                longest[reason, name] = (count + 1, max(most, seconds))
        print(f"{len(stalls)} stalls:")
        for (reason, name), (count, most) in sorted(longest.items()):
            print(f"  {reason}: {name}, {count} times, {most:.1f} s at the most")
        self.trouble = self.ended + self.trouble
        if self.options.json:
            pathlib.Path(self.options.json).write_text(json.dumps({
                "machine": pages.machine(), "minutes": self.options.minutes, "seed": self.options.seed,
                "samples": {name: [dataclasses.asdict(one) for one in all_] for name, all_ in self.samples.items()},
                "faults": [dataclasses.asdict(one) for one in self.happenings], "stalls": stalls,
                "ended": self.ended, "trouble": self.trouble,
                # For whoever looks for the cause: everything but the figures of each second.
                "events": {name: [event for event in program.events if event["event"] not in ("stats", "summary")]
                           for name, program in (("host", self.host), *self.viewers.items())},
                "said": {name: program.said for name, program in (("host", self.host), *self.viewers.items())}},
                indent=1) + "\n")
        for words in self.trouble:
            print(f"NOT AS AIMED: {words}")
        print("not as aimed" if self.trouble else "as aimed: no crash, no growth, each stall explained by its fault")
        return 1 if self.trouble else 0

    def __exit__(self, *error: object) -> None:
        for source in self.sources.values():
            source.is_over = True
        super().__exit__(*error)


def soak(options: Any) -> int:
    isolation.enter()
    with tempfile.TemporaryDirectory(prefix="beamroom-soak-") as shared, Soak(options, pathlib.Path(shared)) as place:
        place.run()
        return place.report()


def run(arguments: list[str]) -> int:
    options = parse(arguments)
    if not options.program:
        sys.exit("--program PATH is wanted")
    return soak(options) if options.inside else run_inside("lab.faults.soak", arguments)


if __name__ == "__main__":
    main(run)
