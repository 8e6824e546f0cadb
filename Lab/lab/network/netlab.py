"""Scripts/netlab: how intact and how current the picture stays on networks with loss, delay and low bandwidth."""

import argparse
import json
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import time

from lab.network import links as between
from lab.network import figures
from lab.bench import glass
from lab.common import laboratory
from lab.network import networks
from lab.network import report
from lab.common import records as results
from lab.bench import systems
from lab.common.laboratory import Trouble

SOURCES = results.LAB / "probes" / "relay"
SYSTEMS = {"beamroom": ["beamroom"], "ffmpeg": ["ffplay"], "all": ["beamroom", "ffplay"]}


def parse(arguments):
    parser = argparse.ArgumentParser(prog="Scripts/netlab")
    parser.add_argument("--only", nargs="+", metavar="NETWORK", choices=networks.NAMES, default=networks.NAMES,
                        help="of " + ", ".join(networks.NAMES) + " (all)")
    parser.add_argument("--system", choices=SYSTEMS, default="all", help="beamroom, ffmpeg (into ffplay) or all (all)")
    parser.add_argument("--seconds", type=float, default=10,
                        help="of each run (10), where the network's own schedule doesn't say")
    parser.add_argument("--reps", type=int, default=1, help="runs of each (1); the table shows their medians")
    parser.add_argument("--seed", type=int, default=1, help="of what the relay decides (1); each repetition adds one")
    parser.add_argument("--content", choices=("video", "scroll"), default="video", help="what moves (video)")
    parser.add_argument("--before", metavar="PROGRAM",
                        help="another beamroom, measured beside on the clean networks: what recovery costs there")
    parser.add_argument("--host-options", default="", metavar="WORDS",
                        help="more options for beamroom share (--host-options=--words)")
    parser.add_argument("--viewer-options", default="", metavar="WORDS",
                        help="more options for beamroom watch (--viewer-options=--words)")
    parser.add_argument("--relay", action="store_true", help="the project's own relay even where there is netem")
    parser.add_argument("--keep-logs", metavar="DIR", help="keep each run's trace, events and words there")
    parser.add_argument("--no-history", action="store_true", help="print only")
    parser.add_argument("--no-setup", action="store_true", help="install nothing")
    parser.add_argument("--check", action="store_true", help="instead: does the relay do what it is told?")
    options = parser.parse_args(arguments)
    if options.reps < 1 or options.seconds < 2:
        parser.error("--reps is at least 1, and --seconds at least 2")
    return options


# --- Outside the namespaces: preparation -----------------------------------------------------------------------------


def build_relay():
    glass.BUILD.mkdir(parents=True, exist_ok=True)
    relay = glass.BUILD / "netlab-relay"
    sources = sorted(SOURCES.glob("*.c"))
    newest = max(path.stat().st_mtime for path in [*sources, SOURCES / "relay.h"])
    if not relay.exists() or relay.stat().st_mtime < newest:
        subprocess.run(["gcc", "-std=gnu17", "-O2", "-Wall", "-Wextra", "-Werror", "-o", relay, *sources, "-lm"],
                       check=True)
    return str(relay)


def run(arguments):
    if arguments[:1] == ["--inside"]:
        return inside(arguments[1:])
    options = parse(arguments)
    if not options.no_setup:
        peers = ["--peer", "ffplay"] if "ffplay" in SYSTEMS[options.system] and not options.check else []
        subprocess.run([results.ROOT / "Scripts" / "setup", "--bench", *peers], check=True, stdout=sys.stderr)
    environment = glass.session_environment()
    environment["BEAMROOM_RELAY"] = build_relay()
    if not options.check:
        environment["BEAMROOM_PROBE"] = glass.build_probe()
        if "beamroom" in SYSTEMS[options.system]:
            environment["BEAMROOM"] = glass.build_program()
    command = [sys.executable, "-B", "-m", "lab.network", "--inside", *arguments]
    return glass.run_isolated(command, environment)


# --- Inside the namespaces: the measurement --------------------------------------------------------------------------


class BeamRoom(systems.BeamRoom):
    def __init__(self, program, directory, options):
        super().__init__(program, directory)
        self.directory.mkdir()
        self.more = {end: shlex.split(getattr(options, f"{end}_options")) for end in ("host", "viewer")}

    def share(self, screens, port, *more):
        return super().share(screens, port, *(more or ["--trusted-only"]), *self.more["host"])

    def watch(self, screens, port, *more):
        return super().watch(screens, port, *more, *self.more["viewer"])

    def own_figures(self):
        """The `summary` events of both ends."""
        found = {}
        for end in ("host", "viewer"):
            for summary in self.events(end, "summary")[-1:]:
                found[end] = {key: value for key, value in summary.items() if key != "event"}
        return found


class FFplay(systems.FFplay):
    """Faster without a GPU: no presentation times, and no OpenGL."""

    def watch(self, screens, port):
        environment = "SDL_RENDER_DRIVER=software SDL_FRAMEBUFFER_ACCELERATION=0"
        return f"{environment} " + super().watch(screens, port).replace(" -noborder", " -vf setpts=0 -noborder")


class NetworkLaboratory(laboratory.Laboratory):
    """Two screens, the host's and the viewer's end of the network, and a link between them for each run."""

    def __init__(self, options):
        super().__init__(os.environ["BEAMROOM_PROBE"], 1080, 30)
        self.options = options
        self.relay = os.environ["BEAMROOM_RELAY"]
        self.screens.host_address, self.screens.viewer_address = between.HOST, between.VIEWER
        self.has_netem = not options.relay and between.has_netem()
        self.trace = self.directory / "trace"

    def __enter__(self):
        super().__enter__()
        try:
            self.viewer_end = self.stack.enter_context(between.namespace(self.log))
        except BaseException:
            self.stack.close()
            raise
        self.at_viewer = ["nsenter", f"--net=/proc/{self.viewer_end}/ns/net", "--"]
        return self

    def running(self, command, name):
        return super().running(self.beside(command) if name == "watch" else command, name)

    def beside(self, command):
        """The command at the viewer's end of the network."""
        return f"exec {shlex.join(self.at_viewer)} sh -c {shlex.quote(command)}"

    def link(self, network, seed):
        kind = between.Netem if self.has_netem and between.suits_netem(network.settings()) else between.Relay
        schedule = [*([(0, network.then)] if network.then else []), *network.changes]
        return kind(self, network.base, schedule, seed)

    def prepare_system(self, system):
        """Prepares a system on the clean link."""
        with self.link(networks.named("clean"), 1):
            system.prepare(self)

    def measure_on(self, network, system, content, seconds, seed):
        """One run; None if the system ended by itself."""
        with self.link(network, seed) as link, between.Meter(self.viewer_end) as meter:
            port = self.next_port()
            with self.running(system.share(self.screens, port), "share") as share:
                time.sleep(1)
                with self.running(system.watch(self.screens, port), "watch") as watch:
                    time.sleep(3)
                    options = ["--trace", self.trace, "--warm-up", 4 if network.content == "still" else 3]
                    if network.then:
                        # The impairments take effect before measuring begins.
                        link.begin()
                    else:
                        options += ["--signal", link.pid]
                    self._probe(content, *options, seconds=seconds)
                    if share.poll() is not None or watch.poll() is not None:
                        return None
        found = self.read(network, link, meter)
        found["link"] = {"kind": link.kind, **link.counters}
        if hasattr(system, "own_figures"):
            found["own"] = system.own_figures()
        return found

    def read(self, network, link, meter):
        trace = figures.Trace(self.trace)
        if network.content == "still":
            return figures.still(trace, meter)
        moments = {settings: moment - trace.begin for moment, settings in link.changes}
        away = [trace.begin + moments[name] for name in ("down", "up")] if {"down", "up"} <= set(moments) else None
        found = figures.moving(trace, meter, away)
        if network.name == "drop" and len(moments) == 2:
            found["series"] = figures.series(trace, meter)
            found.update(figures.dropping(found["series"], moments["rate=2M"], moments["rate=20M"]))
        if away:
            found.update(figures.returning(trace, away[1]))
        return found

    def time_joining(self, network, system, seed):
        """Seconds from the viewer's start until the host's still text can be read; None if it never can."""
        with self.link(network, seed):
            port = self.next_port()
            with self.running(system.share(self.screens, port), "share"):
                time.sleep(1.5)
                figures_ = self._probe("still", "--right", figures.LEGIBLE, "--spawn",
                                       self.beside(system.watch(self.screens, port)), seconds=15)
        return figures_["start"] and figures_["start"] / 1000

    def keep(self, name, system):
        """Copies the logs of a run to the directory of --keep-logs."""
        if not self.options.keep_logs:
            return
        target = pathlib.Path(self.options.keep_logs) / name
        target.mkdir(parents=True, exist_ok=True)
        own = getattr(system, "directory", self.directory)
        for file in (self.trace, self.directory / "log", own / "host.json", own / "viewer.json"):
            if file.exists():
                shutil.copy(file, target)


def measure(options):
    # Imported late: it needs python3-pil, which may have been installed just now.
    from lab.common import content

    found = {}
    with NetworkLaboratory(options) as place:
        content.write(place.directory, place.screens.width, place.screens.height)
        made = {}
        if "beamroom" in SYSTEMS[options.system]:
            made["beamroom"] = BeamRoom(os.environ["BEAMROOM"], place.directory / "now", options)
        if options.before:
            made["before"] = BeamRoom(str(pathlib.Path(options.before).resolve()), place.directory / "before", options)
        if "ffplay" in SYSTEMS[options.system]:
            made["ffplay"] = FFplay()
        for system in made.values():
            place.prepare_system(system)
        for repetition in range(options.reps):
            for name in options.only:
                network = networks.named(name)
                # The systems alternate, so that a slow period of the machine affects all of them, and each is first
                # equally often.
                for key, system in list(made.items())[::-1 if repetition % 2 else 1]:
                    if key == "before" and not name.startswith("clean"):
                        continue
                    one = measure_one(place, network, key, system, repetition)
                    found.setdefault(name, {}).setdefault(key, []).append(one)
    return found


def measure_one(place, network, name, system, repetition):
    options, seed = place.options, place.options.seed + repetition
    shown = options.content if network.content == "video" else network.content
    one = place.measure_on(network, system, shown, network.seconds or options.seconds, seed)
    place.keep(f"{network.name}-{name}-{repetition + 1}", system)
    if one is None:
        glass.say(f"{name}, {network.title}: ended by itself. Last words:\n{place.last_words()}")
        return None
    if network.content == "still":
        one["join_after"] = place.time_joining(network, system, seed)
        place.keep(f"{network.name}-{name}-{repetition + 1}-joined", system)
    glass.say(report.line(network, name, repetition, one))
    return one


def inside(arguments):
    options = parse(arguments)
    if options.check:
        from lab.network import relaycheck

        return relaycheck.run(os.environ["BEAMROOM_RELAY"])
    laboratory.enter()
    load = os.getloadavg()[0]
    found = measure(options)
    entry = results.entry(reps=options.reps, seconds=options.seconds, seed=options.seed, content=options.content,
                          load=load, networks=found)
    report.show(entry)
    if not options.no_history:
        results.append("netlab", rounded(entry))
    return 0


def rounded(value):
    """Rounds figures to meaningful digits."""
    if isinstance(value, float):
        return None if value in (float("inf"), float("-inf")) else round(value, 3)
    if isinstance(value, dict):
        return {key: rounded(one) for key, one in value.items()}
    if isinstance(value, list):
        return [rounded(one) for one in value]
    return value
