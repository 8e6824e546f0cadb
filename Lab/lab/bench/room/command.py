"""Scripts/bench room: members of a room of equals, each in a network of its own, with real processes."""

import argparse
import contextlib
import os
import pathlib
import signal
import statistics
import time
from collections.abc import Callable
from typing import Any

from lab.bench.room.people import meet
from lab.bench.room.words import words, words_lines
from lab.common import build, isolation, records, rows, tables
from lab.common.members import HOST_PORT, Member, rate_of
from lab.common.numbers import number
from lab.common.processes import shares, wait
from lab.common.screens import new_screen
from lab.common.tables import yes
from lab.common.trouble import Trouble

NAMES = ("words", "pictures", "faults", "grid")


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="Scripts/bench room",
        description="Members of a room run in network namespaces of their own, joined by a router: who meets whom and how"
        " soon, words under loss and across a split, pictures through another member, and what dies, freezes, moves and"
        " comes back.")
    rows.add_options(parser, NAMES,
                     "a short run with fewer members, for the tests; exit status 1 if anything is lost or wrong")
    parser.add_argument("--words", type=int, default=1000, help="notes and captions of all members together (1000)")
    parser.add_argument("--seconds", type=int, default=15, help="that pictures are measured (15)")
    options = parser.parse_args(arguments)
    options.members, options.split = 8, 10
    if options.check:
        options.members, options.words, options.split, options.seconds = 4, 80, 4, 3
    if not 20 <= options.words <= 5000 or not 2 <= options.seconds <= 600:
        parser.error("--words is 20 to 5000, --seconds 2 to 600")
    return options


def run(arguments: list[str]) -> int:
    options = parse(arguments)
    if options.inside:
        return inside(options)
    return rows.outside("room", arguments, options, lambda: {"BEAMROOM_RELAY": build.relay()})


def inside(options: argparse.Namespace) -> int:
    isolation.enter()
    found, entry = rows.inside("room", options, lambda row, *place: ROWS[row][0](options, *place))
    print(f"{records.describe(entry['machine'])}; real processes on one machine, each in a network of its own; commit "
          f"{entry['commit']}\n")
    print(tables.text(lines(found), tables.AIM_HEAD))
    rows.keep("room", options, entry, NAMES)
    return 1 if any(row.get("wrong") for row in found.values()) else 0


def lines(found: dict[str, Any]) -> list[list[str]]:
    """The rows for people: what, its aim, what was measured, and whether that reaches the aim."""
    return [line for name in found for line in ROWS[name][1](found[name])]


# --- Pictures, and a member in between -------------------------------------------------------------------------------


def pictures(options: argparse.Namespace, directory: pathlib.Path, stack: contextlib.ExitStack) -> dict[str, Any]:
    share = ("--share", "--size", "640x360", "--content", "scroll", "--max-fps", "30")
    cables, people, row = meet(options, directory, stack, 4, more=lambda number: share if number < 3 else ())
    third, fourth = people[2].program, people[3].program
    sharers = [people[0].name, people[1].name]
    for name in sharers:
        third.line(f'"host":"{name}","', 60)
    # The fourth reaches only the third.
    cut = len(fourth.lines)
    cables.cut([(1, 4), (2, 4)])
    begin = time.monotonic()
    wait("the detour", 30, lambda: all(people[3].people().get(name) == 2 for name in sharers))
    wait("pictures through the third", 60, lambda: all(
        frames(fourth, name, 2) and moving(fourth, name, cut) for name in sharers))
    row["through"] = time.monotonic() - begin
    time.sleep(3)
    seen = {program: len(program.lines) for program in (third, fourth)}
    time.sleep(options.seconds)
    for key, program in (("direct", third), ("relayed", fourth)):
        events = [event for event in program.told("stats", seen[program]) if event.get("host") in sharers]
        spans = [event["latencyMs"]["captureToPicture"]["median"] for event in events
                 if "captureToPicture" in event.get("latencyMs", {})]
        rates = [rate_of([event for event in events if event["host"] == name], "frames") for name in sharers]
        row[key] = {"latency": statistics.median(spans) if spans else None, "fps": min(rates)}
    row["more"] = (row["relayed"]["latency"] or 1e9) - (row["direct"]["latency"] or 0)
    # The cable is there again: the direct way is taken up, and nothing stands.
    cables.join()
    wait("the direct way", 30, lambda: all(people[3].people().get(name) == 1 for name in sharers))
    joined = len(fourth.lines)
    time.sleep(4)
    wait("pictures on the direct way", 60, lambda: all(moving(fourth, name, joined) for name in sharers))
    last = len(fourth.lines)
    time.sleep(2.5)
    row["back"] = min(rate_of([event for event in fourth.told("stats", last) if event.get("host") == name],
                              "frames") for name in sharers)
    row["wrong"] = row["relayed"]["fps"] <= 0 or row["back"] <= 0
    return row


def frames(program: Member, name: str, count: int) -> bool:
    """Whether figures of this member's picture were told so often."""
    return sum(event.get("host") == name for event in program.told("stats")) >= count


def moving(program: Member, name: str, start: int, times: int = 3) -> bool:
    """Whether the newest figures, of which there are some each second, all have more frames than the ones before."""
    events = [event["frames"] for event in program.told("stats", start) if event.get("host") == name][-times:]
    return len(events) == times and all(one < next_ for one, next_ in zip(events, events[1:]))


def pictures_lines(row: dict[str, Any]) -> list[list[str]]:
    return [
        ["two share, a third sees both; a fourth reaches only the third: it has both after", "",
         f"{row['through']:.1f} s", ""],
        ["  from the screen to the decoded picture, at the third and through it (medians); more", "10 ms",
         f"{number(row['direct']['latency'], 1, ' ms')}, {number(row['relayed']['latency'], 1, ' ms')}; "
         f"{row['more']:.1f} ms", yes(row["more"] <= 10)],
        ["  frames a second of 30, at the third and through it (least of both pictures)", "",
         f"{row['direct']['fps']:.1f}, {row['relayed']['fps']:.1f}", ""],
        ["  the cable is there again: frames a second on the direct way", "", f"{row['back']:.1f}", ""],
    ]


# --- What dies, freezes, moves and comes back ------------------------------------------------------------------------


def faults(options: argparse.Namespace, directory: pathlib.Path, stack: contextlib.ExitStack) -> dict[str, Any]:
    count = 4 if options.check else 6
    share = ("--share", "--size", "320x180", "--max-fps", "10")
    cables, people, row = meet(options, directory, stack, count, more=lambda number: share if number == 2 else ())
    names = [person.name for person in people]
    second, others = people[1], [person for person in people if person.number != 2]
    without = [name for name in names if name != second.name]
    for person in others:
        person.program.line(f'"host":"{second.name}","', 60)

    def until(what: str, is_right: Callable[[], object]) -> float:
        begin = time.monotonic()
        wait(what, 30, is_right)
        return time.monotonic() - begin

    def pictures_back() -> float:
        marks = [len(person.program.lines) for person in others]
        return until("the picture to come back", lambda: all(
            moving(person.program, second.name, mark, 2) for person, mark in zip(others, marks, strict=True)))

    second.program.kill()
    row["killed"] = until("the killed one to be gone", lambda: all(person.sees(without) for person in others))
    second.start("study")
    row["restarted"] = until("it to be here again", lambda: all(person.sees(names) for person in people))
    row["pictures_restarted"] = pictures_back()
    os.kill(second.program.pid, signal.SIGSTOP)
    row["frozen"] = until("the frozen one to be gone", lambda: all(person.sees(without) for person in others))
    os.kill(second.program.pid, signal.SIGCONT)
    row["thawed"] = until("it to be here again", lambda: all(person.sees(names) for person in people))
    row["pictures_thawed"] = pictures_back()
    cables.move(2)
    begin = time.monotonic()
    # It is lost first, or everybody notices at once that it has moved.
    wait("the moved one to be linked from its new address", 30, lambda: cables.linked(2, 1))
    row["moved"] = time.monotonic() - begin + until("all to see all", lambda: all(person.sees(names) for person in people))
    row["pictures_moved"] = pictures_back()
    time.sleep(2)
    pairs = cables.pairs(HOST_PORT)
    row["links"], row["doubled"] = len(pairs), sum(found != 1 for found in pairs.values())
    row["expected_links"] = count * (count - 1) // 2
    row["wrong"] = row["doubled"] or row["links"] != row["expected_links"]
    return row


def faults_lines(row: dict[str, Any]) -> list[list[str]]:
    lines = [[f"a member that shares {what}: who is here is right everywhere after", "5 s", f"{row[key]:.2f} s",
              yes(row[key] <= 5)]
             for what, key in (("is killed", "killed"), ("is started again", "restarted"), ("freezes", "frozen"),
                               ("goes on", "thawed"), ("has another address", "moved"))]
    return lines + [
        ["  what it shares is seen by all again within: started again, going on, moved (by figures of each second)", "",
         ", ".join(f"{row[f'pictures_{key}']:.1f}" for key in ("restarted", "thawed", "moved")) + " s", ""],
        ["pairs of members with exactly one connection", str(row["expected_links"]),
         str(row["links"] - row["doubled"]), yes(not row["wrong"])],
    ]


# --- Eight in one window ---------------------------------------------------------------------------------------------


def grid(options: argparse.Namespace, directory: pathlib.Path, stack: contextlib.ExitStack) -> dict[str, Any]:
    count = 3 if options.check else 8
    size, rate = "1280x720", 30
    display, server = new_screen(stack, 1920, 1080)
    # The others don't watch each other: that is the work of other machines.
    share = ("--share", "--size", size, "--max-fps", str(rate), "--content", "video", "--no-watch")
    looks = ("--window-display", display, "--renderer", "software", *([] if options.check else ["--fullscreen"]))
    _, people, row = meet(options, directory, stack, count, more=lambda number: share if number < count else looks)
    viewer = people[-1].program
    wait("all pictures", 60, lambda: viewer.count("first-frame") >= count - 1)
    time.sleep(3)
    seen = len(viewer.lines)
    spent = shares({"viewer": [viewer.pid], "x": [server], "others": [person.program.pid for person in people[:-1]]},
                   options.seconds)
    tiles = viewer.figures_by_host(seen)
    if len(tiles) != count - 1:
        raise Trouble(f"Only {len(tiles)} of {count - 1} members have figures.\n{viewer.last_words()}")
    shown = [rate_of(events, "shown") for events in tiles.values()]
    row.update(shown_least=min(shown), shown_median=statistics.median(shown), viewer=spent["viewer"], x=spent["x"],
               other=spent["others"] / (count - 1), size=size, rate=rate,
               sizes=sorted({f"{events[-1]['width']}x{events[-1]['height']}" for events in tiles.values()}))
    row["wrong"] = min(shown) <= 0
    return row


def grid_lines(row: dict[str, Any]) -> list[list[str]]:
    count = row["members"] - 1
    return [
        [f"{count} members share {row['size']} with {row['rate']} frames a second, one shows all in a grid: shown a second in"
         " each tile (least, median)", "24", f"{row['shown_least']:.1f}, {row['shown_median']:.1f}",
         yes(row["shown_least"] >= 24)],
        ["  sent and decoded in", "", ", ".join(row["sizes"]), ""],
        ["  processor time of the one that shows all; of its X server; of each other one (another machine's)", "",
         f"{row['viewer']:.0f} %; {row['x']:.0f} %; {row['other']:.0f} %", ""],
    ]


# Each row, and its lines for people.
ROWS = {"words": (words, words_lines), "pictures": (pictures, pictures_lines), "faults": (faults, faults_lines),
        "grid": (grid, grid_lines)}
