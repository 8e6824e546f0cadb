"""Runs the subcommands of Scripts/bench."""

import importlib
import sys

COMMANDS = ("micro", "glass", "crowd", "flame", "history", "readme", "words", "wall", "room", "sound",
            "cover")
# Those that are packages.
MODULES = {name: f"{name}.command" for name in ("crowd", "room", "sound", "words")}

if __name__ == "__main__":
    if sys.argv[1:2] == [] or sys.argv[1] not in COMMANDS:
        sys.exit(f"one of {', '.join(COMMANDS)} is wanted")
    try:
        sys.exit(importlib.import_module(f"lab.bench.{MODULES.get(sys.argv[1], sys.argv[1])}").run(sys.argv[2:]))
    except KeyboardInterrupt:
        sys.exit(130)
    except Exception as error:
        # An error that a person can fix is printed as a sentence; any other one is a bug and gets a trace.
        if not getattr(error, "is_for_people", False):
            raise
        sys.exit(str(error))
