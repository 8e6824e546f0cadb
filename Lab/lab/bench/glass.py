"""Scripts/bench glass: glass-to-glass latency of BeamRoom and other systems, on virtual screens."""

import argparse
import os
import pathlib
import signal
import statistics
import subprocess
import sys

from lab.common import pairs
from lab.common import records as results
from lab.bench import systems
from lab.bench import glasstable as table
from lab.common.laboratory import SIZES, Laboratory, Trouble, enter

SOURCES = results.LAB / "probes" / "screen"
BUILD = results.ROOT / ".build" / "bench"
CONTENTS = ("still", "scroll", "video")


def say(text):
    print(text, file=sys.stderr, flush=True)


def parse(arguments):
    parser = argparse.ArgumentParser(prog="Scripts/bench glass")
    parser.add_argument("--only", default="beamroom,gst,x0vnc,mpv", metavar="NAMES",
                        help="which of " + ", ".join(systems.NAMES) + " (beamroom,gst,x0vnc,mpv)")
    parser.add_argument("--content", default=",".join(CONTENTS), help="which of still, scroll, video (all)")
    parser.add_argument("--reps", type=int, default=3, help="runs of each (3); the table shows their medians")
    parser.add_argument("--seconds", type=float, default=8, help="of each run (8)")
    parser.add_argument("--size", type=int, default=1080, choices=sorted(SIZES), help="rows of the screen (1080)")
    parser.add_argument("--rate", type=int, default=60, help="frames a second (60)")
    parser.add_argument("--no-4k", action="store_true", help="leave out 3840x2160 at 30, which takes BeamRoom only")
    parser.add_argument("--no-start", action="store_true", help="don't time the viewers' start")
    parser.add_argument("--captions", action="store_true",
                        help="BeamRoom alone, in pairs: without and with captions, and whether they differ beyond the "
                             "noise, which takes at least 6 pairs (--reps 6). Adds no history")
    parser.add_argument("--no-history", action="store_true", help="print only")
    parser.add_argument("--no-setup", action="store_true", help="install nothing")
    options = parser.parse_args(arguments)
    options.only = options.only.split(",")
    options.content = options.content.split(",")
    if options.captions:
        options.only, options.no_4k, options.no_start, options.no_history = ["beamroom"], True, True, True
    unknown = [name for name in options.only if name not in systems.NAMES]
    if unknown or not set(options.content) <= set(CONTENTS) or options.reps < 1 or options.seconds <= 0:
        parser.error(f"there is no system {', '.join(unknown)}" if unknown else "see --help")
    return options


# --- Outside the namespaces: preparation -----------------------------------------------------------------------------


def build_probe():
    BUILD.mkdir(parents=True, exist_ok=True)
    probe = BUILD / "glassprobe"
    sources = sorted(SOURCES.glob("*.c"))
    newest = max(path.stat().st_mtime for path in [*sources, SOURCES / "probe.h"])
    if not probe.exists() or probe.stat().st_mtime < newest:
        subprocess.run(["gcc", "-std=gnu17", "-O2", "-Wall", "-Wextra", "-o", probe, *sources,
                        "-lX11", "-lXext", "-lm", "-lpthread"], check=True)
    return str(probe)


def build_program():
    program = os.environ.get("BEAMROOM")
    if program:
        return str(pathlib.Path(program).resolve())
    say("Building BeamRoom (the first time takes some minutes)…")
    command = ["swift", "build", "-c", "release", "--static-swift-stdlib", "--product", "beamroom"]
    subprocess.run(command, cwd=results.ROOT, check=True, stdout=sys.stderr)
    path = subprocess.run([*command[:4], "--show-bin-path"], cwd=results.ROOT, check=True, capture_output=True,
                          text=True)
    return f"{path.stdout.strip()}/beamroom"


def isolated(command):
    """The command in new network and process namespaces, which end with it."""
    words = ["unshare", "--net", "--pid", "--fork", "--kill-child", "--mount-proc"]
    if os.geteuid() != 0:
        words += ["--user", "--map-root-user"]
    if subprocess.run([*words, "true"], capture_output=True).returncode != 0:
        raise Trouble("This machine doesn't allow new namespaces, which keep what is measured apart from everything"
                      " else. Run it as root.")
    # If this process is killed, the child is killed too.
    return ["setpriv", "--pdeathsig", "KILL", *words, *command]


def run_isolated(command, environment):
    """Runs the command to its end. The first Ctrl-C lets it clean up, a second one kills it."""
    # In its own session, so that it gets Ctrl-C once.
    process = subprocess.Popen(isolated(command), env=environment, start_new_session=True)
    asked = []

    def end(*_):
        children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        for child in children if not asked else []:
            os.kill(int(child), signal.SIGINT)
        if asked:
            process.kill()
        asked.append(True)

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, end)
    return process.wait()


def session_environment():
    """An environment without the person's session, so that no window opens on a real screen."""
    private = ("DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "XDG_SESSION_TYPE", "DBUS_SESSION_BUS_ADDRESS")
    return {name: value for name, value in os.environ.items() if name not in private}


def run(arguments):
    if arguments[:1] == ["--inside"]:
        return inside(arguments[1:])
    options = parse(arguments)
    if not options.no_setup:
        setup = [results.ROOT / "Scripts" / "setup", "--bench"]
        for name in options.only:
            setup += ["--peer", name] if name in systems.PEERS else []
        subprocess.run(setup, check=True, stdout=sys.stderr)
    environment = session_environment()
    environment["BEAMROOM_PROBE"] = build_probe()
    if "beamroom" in options.only:
        environment["BEAMROOM"] = build_program()
    return run_isolated([sys.executable, "-B", "-m", "lab.bench", "glass", "--inside", *arguments], environment)


# --- Inside the namespaces: the measurement --------------------------------------------------------------------------


def measure(options, size, rate, names):
    """Measures all systems at one size and rate; the figures of each are a list with one value for each repetition."""
    # Imported late: it needs python3-pil, which may have been installed just now.
    from lab.common import content

    found = {name: {} for name in names}
    with Laboratory(os.environ["BEAMROOM_PROBE"], size, rate) as laboratory:
        screens = laboratory.screens
        content.write(laboratory.directory, screens.width, screens.height)
        made = {name: systems.make(name, os.environ.get("BEAMROOM"), laboratory.directory) for name in names}
        for name, system in made.items():
            system.prepare(laboratory)
            found[name]["version"] = system.version()
        for repetition in range(options.reps):
            # The systems alternate, so that a slow period of the machine affects all of them.
            for shown in options.content:
                # Of a pair, each is the first in turn.
                order = reversed(made) if options.captions and repetition % 2 else made
                for name in order:
                    system = made[name]
                    figures = laboratory.measure(system, shown, options.seconds, 4 if shown == "still" else 0)
                    report(laboratory, name, shown, repetition, figures)
                    add(found[name].setdefault(shown, {}), figures)
            if not options.no_start:
                for name, system in made.items():
                    found[name].setdefault("start", []).append(laboratory.time_start(system))
    return {"width": screens.width, "height": screens.height, "rate": rate, "bit_rate": screens.bit_rate,
            "systems": found}


def report(laboratory, name, shown, repetition, figures):
    if figures is None:
        return say(f"{name}, {shown}, {repetition + 1}: ended by itself. Last words:\n{laboratory.last_words()}")
    change = figures["change"]
    say(f"{name}, {shown}, {repetition + 1}: " + (
        f"{change['median']:.1f} ms, p95 {change['p95']:.1f} ms" if change["median"] is not None
        else "no change was seen"))


def add(kept, figures):
    """Appends one run's figures to the lists of earlier runs; missing figures are None."""
    figures = figures or {}
    cpu, memory, rest = figures.get("cpu"), figures.get("memory"), figures.get("rest")
    change, frame = figures.get("change", {}), figures.get("frame", {})
    flat = {
        "median": change.get("median"), "p95": change.get("p95"), "missed": change.get("missed"),
        "frame_median": frame.get("median"), "frame_p95": frame.get("p95"),
        "cpu": cpu and cpu["host"] + cpu["viewer"],
        "cpu_host": cpu and cpu["host"], "cpu_viewer": cpu and cpu["viewer"],
        "memory_host": memory and memory["host"], "memory_viewer": memory and memory["viewer"],
        "rest_cpu": rest and rest["cpu"]["host"] + rest["cpu"]["viewer"],
        "rest_datagrams": rest and rest["datagrams"],
    }
    for key in ("fps", "painted_fps", "longest_gap", "frozen", "psnr", "psnr_p5", "psnr_rested", "luma_rested", "mbit"):
        flat[key] = figures.get(key)
    for key, value in flat.items():
        if value is not None or key in kept or key in ("median", "p95"):
            kept.setdefault(key, []).append(None if value is None else round(value, 2))
    if figures.get("stages"):
        kept.setdefault("stages", []).append(figures["stages"])


def compare_captions(options):
    """Prints the latency without and with captions, the ratio of each pair, and whether the difference is noise."""
    found = measure(options, options.size, options.rate, ["beamroom", "captions"])["systems"]
    print(f"{results.describe(results.machine())}, load {os.getloadavg()[0]:.1f}; commit {results.commit()}")
    for shown in options.content:
        for key in ("median", "p95"):
            measured = [(without, captioned) for without, captioned
                        in zip(found["beamroom"][shown][key], found["captions"][shown][key])
                        if without is not None and captioned is not None]
            if not measured:
                print(f"{shown}, {key}: no pair was measured")
                continue
            without, captioned = (statistics.median(side) for side in zip(*measured))
            ratios = sorted(second / first for first, second in measured)
            print(f"{shown}, {key} latency: {without:.1f} ms without captions, {captioned:.1f} ms with (medians of "
                  f"{len(measured)}); ratio of pairs {statistics.median(ratios):.3f} ({ratios[0]:.3f} to "
                  f"{ratios[-1]:.3f}); {pairs.verdict(measured)}.")
        # Where a difference comes from.
        sides = [found[name][shown].get("stages", []) for name in ("beamroom", "captions")]
        for stage in sorted({stage for side in sides for run in side for stage in run}):
            without, captioned = (results.median([run[stage]["median"] for run in side if stage in run])
                                  for side in sides)
            print(f"  {stage}: {results.number(without, 2)} ms without, {results.number(captioned, 2)} ms with")


def inside(arguments):
    options = parse(arguments)
    enter()
    if options.captions:
        return compare_captions(options)
    tables = {f"{options.size}p{options.rate}": measure(options, options.size, options.rate, options.only)}
    if "beamroom" in options.only and not options.no_4k and options.size != 2160:
        tables["2160p30"] = measure(options, 2160, 30, ["beamroom"])
    entry = results.entry(reps=options.reps, seconds=options.seconds, tables=tables)
    table.show(entry)
    if not options.no_history:
        results.append("glass", entry)
