"""Where things are."""

import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[3]
LAB = ROOT / "Lab"
PROBES = LAB / "probes"
# Tables of results, and beside them each run's figures as a line of JSON.
RESULTS = LAB / "results"
HISTORY = RESULTS / "history"
# What is built for measurements.
BUILD = ROOT / ".build" / "bench"
SETUP = ROOT / "Scripts" / "setup"
