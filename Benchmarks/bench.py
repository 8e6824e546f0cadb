"""Runs the subcommands of Scripts/bench."""

import importlib
import pathlib
import sys

COMMANDS = ("micro", "glass", "crowd", "flame", "history", "readme", "netlab", "words", "wall", "room", "sound",
            "cover")
# Modules that aren't named as their commands.
MODULES = {"words": "roombench", "room": "meeting"}

if __name__ == "__main__":
    here = pathlib.Path(__file__).resolve().parent
    sys.path += [str(here / "Glass"), str(here / "Netlab"), str(here / "Crowd"), str(here / "Words"), str(here / "Wall"),
                 str(here / "Room"), str(here / "Sound"), str(here / "Cover")]
    if sys.argv[1:2] == [] or sys.argv[1] not in COMMANDS:
        sys.exit(f"one of {', '.join(COMMANDS)} is wanted")
    try:
        sys.exit(importlib.import_module(MODULES.get(sys.argv[1], sys.argv[1])).run(sys.argv[2:]))
    except KeyboardInterrupt:
        sys.exit(130)
    except Exception as error:
        # An error that a person can fix is printed as a sentence; any other one is a bug and gets a trace.
        if not getattr(error, "is_for_people", False):
            raise
        sys.exit(str(error))
