"""The table of networks, and whether each aim is reached."""

from typing import Any

from lab.common import records, tables
from lab.common.numbers import median, number
from lab.network import aims, networks

TITLES = {"beamroom": "BeamRoom", "before": "BeamRoom before", "ffplay": "ffmpeg to ffplay"}


def figure(entry: dict[str, Any], network: str, system: str, name: str) -> Any:
    """The median of the repetitions; None if there is none."""
    runs = entry["networks"].get(network, {}).get(system, [])
    return median([run.get(name) for run in runs if run])


def told(entry: dict[str, Any], network: str, system: str, end: str, *names: str) -> Any:
    """An end's own count, under the first of these names that it has."""
    runs = entry["networks"].get(network, {}).get(system, [])
    found = []
    for run in runs:
        summary = (run or {}).get("own", {}).get(end, {})
        found.append(next((summary[name] for name in names if summary.get(name) is not None), None))
    return median(found)


# The program's names of its counts; the first one that a run has is used.
LOST = ("lostAfterRecovery", "framesLost", "lost")
RETRANSMITTED = ("retransmitted",)
REPAIRED = ("repaired", "repairedByParity", "parityRepaired")
ASKED = ("keyframesAsked", "keyframesRequested", "keyframeRequests")


def line(network: networks.Network, system: str, repetition: int, one: dict[str, Any]) -> str:
    """Prints one run when it ends."""
    if network.content == "typing":
        words = (f"median {number(one['median'])} ms, p95 {number(one['p95'])} ms, never exact {number(one['unseen'])} %,"
                 f" wrong in {one['wrong']} and back in {one['reverted']} of {one['looks']} looks")
    elif network.content == "still":
        words = (f"legible after {number(one['legible_after'], 1, ' s')}, to who joins after"
                 f" {number(one['join_after'], 1, ' s')}, median {number(one['median'], 0)} ms,"
                 f" max {number(one['max'], 0)} ms")
    else:
        words = (f"{number(one['fps'])} fps, frozen {number(one['frozen'], 1)} %, median {number(one['median'])} ms, "
                 f"p95 {number(one['p95'])} ms, broken {number(one['broken'])} %, {number(one['luma'])} dB")
        if one["painted_fps"] < 29:
            words += f" (the machine is too busy: only {number(one['painted_fps'])} fps were painted)"
    return f"{TITLES[system]}, {network.title}, {repetition + 1}: {words}"


def moving_rows(entry: dict[str, Any], system: str) -> list[list[str]]:
    rows = []
    for network in networks.MOVING:
        if system not in entry["networks"].get(network.name, {}):
            continue

        def get(name: str) -> Any:
            return figure(entry, network.name, system, name)

        def counted(end: str, *names: str) -> str:
            return number(told(entry, network.name, system, end, *names), 0)

        rows.append([
            network.title, number(get("fps")), number(get("frozen")), number(get("longest_gap"), 0),
            "/".join(number(get(name), 0) for name in ("median", "p95", "max")), number(get("broken")),
            number(get("luma")), number(get("mbit"), 2), counted("viewer", *RETRANSMITTED),
            counted("viewer", *REPAIRED), counted("viewer", *ASKED), counted("viewer", "keyframes"),
            counted("viewer", *LOST),
        ])
    return rows


MOVING = ["", "fps", "frozen %", "longest ms", "median/p95/max ms", "broken %", "luma dB", "Mbit/s", "sent again",
          "repaired", "asked", "keyframes", "lost"]


def show_series(entry: dict[str, Any], system: str) -> None:
    runs = [run for run in entry["networks"].get("drop", {}).get(system, []) if run and run.get("series")]
    if not runs:
        return
    network = networks.named("drop")
    what = dict(network.changes)
    rows = [[f"{row['at']:g}", number(row["fps"], 0), number(row["median"], 0), number(row["max"], 0),
             number(row["luma"]), number(row["mbit_sent"], 2), number(row["mbit"], 2),
             what.get(int(row["at"]), "") if row["at"] == int(row["at"]) else ""] for row in runs[0]["series"]]
    head = [f"{TITLES[system]}: s", "fps", "median ms", "max ms", "luma dB", "sent Mbit/s", "got Mbit/s", ""]
    print(tables.text(rows, head) + "\n")


def show_still(entry: dict[str, Any]) -> None:
    rows = []
    for system, title in TITLES.items():
        if system in entry["networks"].get("narrow", {}):
            def get(name: str) -> Any:
                return figure(entry, "narrow", system, name)

            rows.append([title, number(get("legible_after"), 1), number(get("join_after"), 1),
                         "/".join(number(get(name), 0) for name in ("median", "p95", "max")), number(get("luma")),
                         number(get("luma_last")), number(get("mbit"), 3), number(get("mbit_sent"), 3)])
    if rows:
        head = [networks.named("narrow").title, "legible s", "joined s", "change median/p95/max ms", "luma dB",
                "at last", "got Mbit/s", "sent"]
        print(tables.text(rows, head) + "\n")


def show_typing(entry: dict[str, Any]) -> None:
    rows = []
    for network in networks.TYPING:
        for system, title in TITLES.items():
            if system not in entry["networks"].get(network.name, {}):
                continue

            def get(name: str, digits: int = 1) -> str:
                return number(figure(entry, network.name, system, name), digits)

            rows.append([network.title, title, f"{get('median')} / {get('p95')} / {get('max', 0)}",
                         f"{get('seen_median')} / {get('seen_p95')}", get("unseen"), get("wrong", 0), get("reverted", 0),
                         get("looks", 0), get("mbit", 3)])
    if rows:
        head = ["a letter, 20 a second", "", "exact: median / p95 / max ms", "seen: median / p95 ms", "never exact %",
                "wrong", "back", "of looks", "Mbit/s"]
        print(tables.text(rows, head) + "\n")


def show(entry: dict[str, Any]) -> None:
    print(f"{entry['date']}, commit {entry['commit']}, {records.describe(entry['machine'])}")
    kinds = sorted({run["link"]["kind"] for systems in entry["networks"].values() for runs in systems.values()
                    for run in runs if run})
    print(f"1920x1080 at 30, {entry['content']}, 10 Mbit/s unless the network carries less. Runs of"
          f" {entry['seconds']:g} s, medians of {entry['reps']}, seed {entry['seed']}, by {' and '.join(kinds)}. The"
          f" machine's load was {entry['load']:.1f} before.\n")
    for system, title in TITLES.items():
        rows = moving_rows(entry, system)
        if rows:
            print(tables.text(rows, [title, *MOVING[1:]]) + "\n")
        show_series(entry, system)
    show_still(entry)
    show_typing(entry)
    aims.show(entry)
