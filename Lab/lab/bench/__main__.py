"""Runs the subcommands of Scripts/bench."""

import importlib

from lab.common.trouble import Trouble, main

COMMANDS = ("micro", "glass", "crowd", "flame", "history", "readme", "words", "wall", "relay", "room", "sound", "cover",
            "wayland", "web", "quality")
# Those that are packages.
PACKAGES = ("crowd", "room", "sound", "wayland", "web", "words")


def run(arguments: list[str]) -> int | None:
    name, *more = arguments or [""]
    if name not in COMMANDS:
        raise Trouble(f"one of {', '.join(COMMANDS)} is wanted")
    module = f"lab.bench.{name}.command" if name in PACKAGES else f"lab.bench.{name}"
    return importlib.import_module(module).run(more)


if __name__ == "__main__":
    main(run)
