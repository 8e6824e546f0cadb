"""Scripts/netlab: how intact and how current the picture stays on networks with loss, delay and low bandwidth."""

import argparse
import contextlib
import os
import pathlib
import shlex
import shutil
import subprocess
import time
from collections.abc import Iterator, Sequence
from typing import Any

from lab.bench import systems
from lab.common import build, isolation, records
from lab.common.namespaces import entering, namespace
from lab.common.numbers import rounded
from lab.common.screens import Screens, TwoScreens
from lab.common.trouble import say
from lab.network import figures, links, networks, report
from lab.network.links import Meter
from lab.network.networks import Network

SYSTEMS = {"beamroom": ["beamroom"], "ffmpeg": ["ffplay"], "all": ["beamroom", "ffplay"]}


def parse(arguments: list[str]) -> argparse.Namespace:
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
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.reps < 1 or options.seconds < 2:
        parser.error("--reps is at least 1, and --seconds at least 2")
    return options


# --- Outside the namespaces: preparation -----------------------------------------------------------------------------


def run(arguments: list[str]) -> int:
    options = parse(arguments)
    if options.inside:
        return inside(options)
    if not options.no_setup:
        peers = ["--peer", "ffplay"] if "ffplay" in SYSTEMS[options.system] and not options.check else []
        build.setup("--bench", *peers)
    environment = {"BEAMROOM_RELAY": build.relay()}
    if not options.check:
        environment["BEAMROOM_PROBE"] = build.screen_probe()
        if "beamroom" in SYSTEMS[options.system]:
            environment["BEAMROOM"] = build.beamroom()
    return isolation.run_inside("lab.network", ["--inside", *arguments], environment)


# --- Inside the namespaces: the measurement --------------------------------------------------------------------------


class BeamRoom(systems.BeamRoom):
    def __init__(self, program: str, directory: pathlib.Path, host_words: Sequence[str] = (),
                 viewer_words: Sequence[str] = ()) -> None:
        super().__init__(program, directory)
        self.directory.mkdir()
        self.more = {"host": host_words, "viewer": viewer_words}

    def share(self, screens: Screens, port: int, *more: object) -> str:
        return super().share(screens, port, *(more or ["--trusted-only"]), *self.more["host"])

    def watch(self, screens: Screens, port: int, *more: object) -> str:
        return super().watch(screens, port, *more, *self.more["viewer"])

    def own_figures(self) -> dict[str, Any]:
        """The `summary` events of both ends."""
        found = {}
        for end in ("host", "viewer"):
            for summary in self.events(end, "summary")[-1:]:
                found[end] = {key: value for key, value in summary.items() if key != "event"}
        return found


class FFplay(systems.FFplay):
    """Faster without a GPU: no presentation times, and no OpenGL."""

    def watch(self, screens: Screens, port: int) -> str:
        environment = "SDL_RENDER_DRIVER=software SDL_FRAMEBUFFER_ACCELERATION=0"
        return f"{environment} " + super().watch(screens, port).replace(" -noborder", " -vf setpts=0 -noborder")


class BadNetwork(TwoScreens):
    """Two screens, the host's and the viewer's end of the network, and a link between them for each run."""

    def __init__(self, prefers_relay: bool = False) -> None:
        super().__init__(1080, 30)
        self.prefers_relay = prefers_relay
        self.screens.host_address, self.screens.viewer_address = links.HOST, links.VIEWER
        self.trace = self.directory / "trace"

    def begin(self) -> None:
        super().begin()
        self.viewer_end = self.stack.enter_context(namespace(self.log))

    @contextlib.contextmanager
    def running(self, command: str, name: str) -> Iterator[subprocess.Popen]:
        with super().running(self.beside(command) if name == "watch" else command, name) as process:
            yield process

    def beside(self, command: str) -> str:
        """The command at the viewer's end of the network."""
        return f"exec {shlex.join(entering(self.viewer_end))} sh -c {shlex.quote(command)}"

    def link(self, network: Network, seed: int) -> links.Relay | links.Netem:
        return links.link(network, self.log, self.viewer_end, seed, self.prefers_relay)

    def prepare_system(self, system: Any) -> None:
        """Prepares a system on the clean link."""
        with self.link(networks.named("clean"), 1):
            system.prepare(self)

    def measure_on(self, network: Network, system: Any, content: str, seconds: float, seed: int) -> dict[str, Any] | None:
        """One run; None if the system ended by itself."""
        with self.link(network, seed) as link, links.Meter(self.viewer_end) as meter:
            with self.sharing(system, 1, 3) as ends:
                options: list[object] = ["--warm-up", 4 if network.content == "still" else 3]
                if content != "typing":
                    options += ["--trace", self.trace]
                if network.then:
                    # The impairments take effect before measuring begins.
                    link.begin()
                else:
                    options += ["--signal", link.pid]
                printed = self.probed(content, *options, seconds=seconds)
                if any(end.poll() is not None for end in ends):
                    return None
        found = figures.typing(printed, meter) if content == "typing" else self.read(network, link, meter)
        found["link"] = {"kind": link.kind, **link.counters}
        if hasattr(system, "own_figures"):
            found["own"] = system.own_figures()
        return found

    def read(self, network: Network, link: links.Relay | links.Netem, meter: Meter) -> dict[str, Any]:
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

    def time_joining(self, network: Network, system: Any, seed: int) -> float | None:
        """Seconds from the viewer's start until the host's still text can be read; None if it never can."""
        with self.link(network, seed):
            port = self.next_port()
            with self.running(system.share(self.screens, port), "share"):
                time.sleep(1.5)
                figures_ = self.probed("still", "--right", figures.LEGIBLE, "--spawn",
                                       self.beside(system.watch(self.screens, port)), seconds=15)
        return figures_["start"] and figures_["start"] / 1000

    def keep(self, name: str, system: Any, target: str | None) -> None:
        """Copies the logs of a run to the directory of --keep-logs."""
        if not target:
            return
        folder = pathlib.Path(target) / name
        folder.mkdir(parents=True, exist_ok=True)
        own = getattr(system, "directory", self.directory)
        for file in (self.trace, self.directory / "log", own / "host.json", own / "viewer.json"):
            if file.exists():
                shutil.copy(file, folder)


def measure(options: Any) -> dict[str, Any]:
    # Imported late: it needs python3-pil, which may have been installed just now.
    from lab.common import content

    found = {}
    more = (shlex.split(options.host_options), shlex.split(options.viewer_options))
    with BadNetwork(options.relay) as place:
        content.write(place.directory, place.screens.width, place.screens.height)
        content.write_exact(place.directory)
        made: dict[str, systems.System] = {}
        if "beamroom" in SYSTEMS[options.system]:
            made["beamroom"] = BeamRoom(os.environ["BEAMROOM"], place.directory / "now", *more)
        if options.before:
            made["before"] = BeamRoom(str(pathlib.Path(options.before).resolve()), place.directory / "before", *more)
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
                    # Nothing is exact in a video.
                    if key == "ffplay" and network.content == "typing":
                        continue
                    one = measure_one(options, place, network, key, system, repetition)
                    found.setdefault(name, {}).setdefault(key, []).append(one)
    return found


def measure_one(options: Any, place: BadNetwork, network: Network, name: str, system: Any,
                repetition: int) -> dict[str, Any] | None:
    seed = options.seed + repetition
    shown = options.content if network.content == "video" else network.content
    one = place.measure_on(network, system, shown, network.seconds or options.seconds, seed)
    place.keep(f"{network.name}-{name}-{repetition + 1}", system, options.keep_logs)
    if one is None:
        say(f"{name}, {network.title}: ended by itself. Last words:\n{place.last_words()}")
        return None
    if network.content == "still":
        one["join_after"] = place.time_joining(network, system, seed)
        place.keep(f"{network.name}-{name}-{repetition + 1}-joined", system, options.keep_logs)
    say(report.line(network, name, repetition, one))
    return one


def inside(options: Any) -> int:
    if options.check:
        from lab.network import relaycheck

        return relaycheck.run()
    isolation.enter()
    load = os.getloadavg()[0]
    found = measure(options)
    entry = records.entry(reps=options.reps, seconds=options.seconds, seed=options.seed, content=options.content,
                          load=load, networks=found)
    report.show(entry)
    if not options.no_history:
        records.append("netlab", rounded(entry))
    return 0
