"""The programs that are measured or that measure, built when they are missing or older than their sources."""

import os
import pathlib
import subprocess
import sys

from lab.common.paths import BUILD, PROBES, ROOT, SETUP
from lab.common.trouble import say


def setup(*options: str) -> None:
    """Installs missing packages."""
    subprocess.run([SETUP, *options], check=True, stdout=sys.stderr)


def _product(name: str, variable: str) -> str:
    """The release build of one of Package.swift's products, unless the environment names another program."""
    program = os.environ.get(variable)
    if program:
        return str(pathlib.Path(program).resolve())
    say(f"Building {name} (the first time takes some minutes)…")
    command = ["swift", "build", "-c", "release", "--static-swift-stdlib"]
    subprocess.run([*command, "--product", name], cwd=ROOT, check=True, stdout=sys.stderr)
    path = subprocess.run([*command, "--show-bin-path"], cwd=ROOT, check=True, capture_output=True, text=True)
    return f"{path.stdout.strip()}/{name}"


def _compiled(name: str, folder: str, *libraries: str) -> str:
    """A C program of Lab/probes."""
    BUILD.mkdir(parents=True, exist_ok=True)
    program, files = BUILD / name, [*(PROBES / folder).iterdir()]
    if not program.exists() or program.stat().st_mtime < max(path.stat().st_mtime for path in files):
        sources = sorted(path for path in files if path.suffix == ".c")
        subprocess.run(["gcc", "-std=gnu17", "-O2", "-Wall", "-Wextra", "-Werror", "-o", program, *sources, *libraries],
                       check=True)
    return str(program)


def beamroom() -> str:
    return _product("beamroom", "BEAMROOM")


def crowd() -> str:
    return _product("beamroom-crowd", "BEAMROOM_CROWD")


def micro() -> str:
    return _product("beamroom-benchmarks", "BEAMROOM_BENCHMARKS")


def screen_probe() -> str:
    return _compiled("glassprobe", "screen", "-lX11", "-lXext", "-lxcb", "-lxcb-damage", "-lxcb-xfixes",
                     "-lwayland-client", "-lm", "-lpthread")


def sound_probe() -> str:
    return _compiled("soundprobe", "sound", "-lpulse", "-lX11", "-lXext", "-lm")


def relay() -> str:
    return _compiled("netlab-relay", "relay", "-lm")


def wall_clock() -> str:
    """A library for LD_PRELOAD."""
    return _compiled("wallclock.so", "clock", "-shared", "-fPIC")
