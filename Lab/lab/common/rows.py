"""What benchmarks of several rows have in common: they run again in namespaces of their own, and measure row by row."""

import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from lab.bench import glass
from lab.network import netlab
from lab.common import records as results


def outside(name, arguments, options, prepare=None):
    """Installs and builds what is missing, and runs the benchmark again in new namespaces. `prepare` adds to the
    environment.
    """
    if not options.no_setup:
        subprocess.run([results.ROOT / "Scripts" / "setup", "--bench"], check=True, stdout=sys.stderr)
    environment = glass.session_environment()
    environment["BEAMROOM"] = glass.build_program()
    if prepare:
        prepare(environment)
    if options.json:
        arguments = [*arguments, f"--json={pathlib.Path(options.json).resolve()}"]
    command = [sys.executable, "-B", "-m", "lab.bench", name, "--inside", *arguments]
    return glass.run_isolated(command, environment)


def inside(name, options, measure):
    """The figures of each row, and the history's entry with them. `measure` gets the row, a directory and a stack."""
    found = {}
    for row in options.rows:
        directory = pathlib.Path(tempfile.mkdtemp(prefix=f"beamroom-{name}-"))
        try:
            with contextlib.ExitStack() as stack:
                found[row] = measure(row, directory, stack)
        finally:
            shutil.rmtree(directory, ignore_errors=True)
        glass.say(f"{row}: {json.dumps(found[row])}")
    return found, results.entry(load=os.getloadavg()[0], rows=netlab.rounded(found))


def keep(name, options, entry, names):
    """Writes what was measured where it is wanted: into a file, and if all of it was measured, into the history."""
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(entry, indent=1) + "\n")
    if names and not options.check and not options.no_history and set(entry["rows"]) == set(names):
        results.append(name, entry)
