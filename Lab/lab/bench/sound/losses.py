"""Sound and picture together on bad networks: what is concealed, how long a tone is missing, and what the picture costs."""

import argparse
import contextlib
import os
import pathlib
import shlex
import time
from typing import Any

from lab.bench.sound.listening import longest_gap
from lab.bench.sound.rig import Probe, Recorder, Rig, concealed, newest, sounds
from lab.bench.sound.servers import KINDS, SPEAKER, Server
from lab.common.members import Member
from lab.common.screens import Screens
from lab.common.trouble import Trouble, say
from lab.network import figures, links, netlab, networks
from lab.network.networks import Network

#: Of the tone, which nothing else in the recording has.
FREQUENCY, AMPLITUDE = 440, 0.25
#: The picture's figures that are compared, and whether more of them is better.
FIGURES = {"fps": True, "median": False, "p95": False}
STILL = {"legible_after": False, "join_after": False, "median": False}


class Sounding(netlab.BeamRoom):
    """BeamRoom with the sound servers of both ends, sharing sound or not."""

    def __init__(self, program: str, directory: pathlib.Path, ends: dict[str, Server], words: dict[str, list[str]]) -> None:
        super().__init__(program, directory)
        self.ends, self.words = ends, words

    def _with(self, end: str, command: str) -> str:
        exports = " ".join(f"{key}={shlex.quote(value)}" for key, value in self.ends[end].environment.items())
        return f"unset SDL_AUDIODRIVER; export {exports}; {command}"

    def share(self, screens: Screens, port: int, *more: object) -> str:
        # `more` replaces --trusted-only while the viewer is paired.
        return self._with("host", super().share(screens, port, *(more or ["--trusted-only"]), *self.words["host"]))

    def watch(self, screens: Screens, port: int, *more: object) -> str:
        return self._with("viewer", super().watch(screens, port, *more, *self.words["viewer"]))


def measure(options: argparse.Namespace, kind: str, directory: pathlib.Path, stack: contextlib.ExitStack) -> dict[str, Any]:
    from lab.common import content

    place = stack.enter_context(netlab.BadNetwork(options.relay))
    log = stack.enter_context(open(directory / f"{kind}-losses", "a+"))
    ends = {name: KINDS[kind](stack, directory / f"{kind}-{name}-losses", log).start() for name in ("host", "viewer")}
    content.write(place.directory, place.screens.width, place.screens.height)
    systems = {
        "off": Sounding(os.environ["BEAMROOM"], place.directory / "off", ends,
                        {"host": ["--audio", "off"], "viewer": ["--no-audio"]}),
        "on": Sounding(os.environ["BEAMROOM"], place.directory / "on", ends,
                       # Otherwise the picture waits for the sound, by 10 ms at most, on purpose.
                       {"host": ["--audio", "auto"], "viewer": ["--av-sync", "off"]}),
    }
    for system in systems.values():
        place.prepare_system(system)
    recorder = Recorder(stack, log, ends["viewer"], directory / f"{kind}-tone")
    Probe(stack, log, ends["host"], "play", kind="tone", frequency=FREQUENCY, amplitude=AMPLITUDE, latency=0.02)
    found = {}
    for name in options.networks:
        network = networks.named(name)
        found[name] = [one_pair(options, place, network, systems, recorder, repetition)
                       for repetition in range(options.reps)]
    return found


def one_pair(options: argparse.Namespace, place: netlab.BadNetwork, network: Network, systems: dict[str, Sounding],
             recorder: Recorder, repetition: int) -> dict[str, Any]:
    """The same network with and without sound, one after the other; each is the first in turn."""
    found = {}
    shown = "still" if network.content == "still" else options.content
    seconds = network.seconds or options.seconds
    for name in list(systems)[::-1 if repetition % 2 else 1]:
        system = systems[name]
        one = place.measure_on(network, system, shown, seconds, options.seed + repetition)
        if one is None:
            raise Trouble(f"{network.title}: an end ended by itself. Last words:\n{place.last_words()}")
        if name == "on":
            found["sound"] = heard(place, system, recorder, seconds)
        if network.content == "still" and not options.check:
            one["join_after"] = place.time_joining(network, system, options.seed + repetition)
        found[name] = {key: one.get(key) for key in (STILL if network.content == "still" else FIGURES)}
        say(f"{network.title}, sound {name}: {found[name]} {found.get('sound', '') if name == 'on' else ''}")
    return found


def heard(place: netlab.BadNetwork, system: Sounding, recorder: Recorder, seconds: float) -> dict[str, Any]:
    trace = figures.Trace(place.trace)
    gap, count = longest_gap(recorder.recording().part(trace.begin, trace.end))
    events = system.events("viewer", "stats")
    last = events[-1]["t"] if events else 0
    # What came before the network lost doesn't count.
    told = [event["sound"] for event in events if event["t"] >= last - seconds and event.get("sound")]
    summary = next((event.get("sound") for event in system.events("viewer", "summary")[-1:]), None)
    return {"longest_gap": gap, "gaps": count, "concealed": concealed(told), "told": told[-1] if told else summary}


def quick(options: argparse.Namespace, kind: str, directory: pathlib.Path, stack: contextlib.ExitStack) -> dict[str, Any]:
    """The short form: one network, a small screen, and no comparison."""
    rig = Rig(options, kind, directory, stack)
    with contextlib.ExitStack() as inner:
        link = rig.link("loss5")
        inner.enter_context(link)
        rig.move(inner)
        rig.share(inner, "--audio", "auto")
        viewer = rig.watch(inner, "--no-window", "--audio-output", SPEAKER)
        recorder = rig.record(inner, rig.viewer)
        rig.play(inner, rig.host, kind="tone", frequency=FREQUENCY, amplitude=AMPLITUDE, latency=0.02)
        return {"loss5": [{"sound": _listen(link, viewer, recorder, options.seconds)}]}


def _listen(link: links.Relay | links.Netem, viewer: Member, recorder: Recorder, seconds: float) -> dict[str, Any]:
    time.sleep(2)
    link.begin()
    begin = time.monotonic()
    time.sleep(seconds)
    end = time.monotonic()
    # The events of the last second follow.
    time.sleep(1.1)
    gap, count = longest_gap(recorder.recording().part(begin, end))
    return {"longest_gap": gap, "gaps": count, "concealed": concealed(sounds(viewer, begin, end + 1.1)),
            "told": newest(viewer)}
