"""Errors that a person can mend, and how each command of the lab begins and ends."""

import subprocess
import sys
from collections.abc import Callable
from typing import NoReturn


class Trouble(Exception):
    """An error that a person can mend. Printed as a sentence, without a trace."""


def main(run: Callable[[list[str]], int | None]) -> NoReturn:
    """Runs a command with the program's arguments. Any other error than these is a bug and gets a trace."""
    try:
        sys.exit(run(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
    except Trouble as trouble:
        sys.exit(str(trouble))
    except subprocess.CalledProcessError as error:
        sys.exit(f"{error}\n{error.stderr or ''}")


def say(text: str) -> None:
    """Tells the person how far a measurement is, beside its result."""
    print(text, file=sys.stderr, flush=True)
