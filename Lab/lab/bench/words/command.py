"""Scripts/bench words: how soon captions, notes and messages are at the other end, with real processes."""

import argparse
import collections
import contextlib
import os
import pathlib
import statistics
import time
from collections.abc import Iterator
from typing import Any

from lab.bench.words.drawing import drawn, drawn_lines
from lab.common import build, isolation, records, rows, tables
from lab.common.members import Member
from lab.common.namespaces import entering, namespace
from lab.common.numbers import taken
from lab.common.processes import wait
from lab.common.tables import yes
from lab.common.trouble import Trouble
from lab.network import links

NAMES = ("captions", "drawn", "history", "messages", "notes", "restarts")


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="Scripts/bench words")
    rows.add_options(parser, NAMES, "a short run, for the tests; exit status 1 if anything is lost, not seen or comes twice")
    parser.add_argument("--messages", type=int, default=10_000, help="each way in the row messages (10000)")
    parser.add_argument("--viewers", type=int, default=20, help="in the row notes (20)")
    parser.add_argument("--notes", type=int, default=100, help="of each viewer in the row notes (100)")
    parser.add_argument("--reps", type=int, default=5, help="restarts of each side in the row restarts (5)")
    options = parser.parse_args(arguments)
    if options.check:
        options.messages, options.viewers, options.notes, options.reps = 300, 4, 20, 1
    if not 3 <= options.viewers <= 60 or not 4 <= options.notes <= 900 or not 10 <= options.messages <= 50_000 \
            or options.reps < 1:
        parser.error("--viewers is 3 to 60, --notes 4 to 900, --messages 10 to 50000, --reps at least 1")
    return options


def run(arguments: list[str]) -> int:
    options = parse(arguments)
    if options.inside:
        return inside(options)

    def prepare() -> dict[str, Any]:
        return {**({"BEAMROOM_RELAY": build.relay()} if "notes" in options.rows else {}),
                **({"BEAMROOM_PROBE": build.screen_probe()} if "drawn" in options.rows else {})}

    return rows.outside("words", arguments, options, prepare)


def inside(options: argparse.Namespace) -> int:
    if "drawn" in options.rows:
        isolation.enter()
    else:
        isolation.start_loopback()
    found, entry = rows.inside("words", options, lambda row, *place: ROWS[row][0](options, *place))
    print(f"{records.describe(entry['machine'])}; real processes on one machine; commit {entry['commit']}\n")
    print(tables.text(lines(found), tables.AIM_HEAD))
    rows.keep("words", options, entry, NAMES)
    return 1 if any(broken(found)) else 0


def lines(found: dict[str, Any]) -> list[list[str]]:
    """The rows for people: what, its aim, what was measured, and whether that reaches the aim."""
    return [line for name in found for line in ROWS[name][1](found[name])]


def broken(found: dict[str, Any]) -> Iterator[str]:
    """What must never be, however busy the machine is."""
    for row in found.values():
        for key in ("lost", "twice", "unequal", "out_of_order", "unseen"):
            if row.get(key):
                yield key


# --- A caption, from the pipe to a viewer's event --------------------------------------------------------------------


def captions(options: argparse.Namespace, directory: pathlib.Path, stack: contextlib.ExitStack) -> dict[str, Any]:
    pipe = directory / "captions"
    os.mkfifo(pipe)
    host = Member.share(stack, directory, "--captions", str(pipe))
    viewer = Member.watch(stack, directory)
    viewer.first("first-frame")
    count = 20 if options.check else 100
    took = []
    with open(pipe, "wb", buffering=0) as captioner:
        for number in range(count):
            text = f"caption {number} of a captioner"
            start = time.monotonic()
            captioner.write(f"{text}\n".encode())
            took.append(viewer.line(f'"text":"{text}"').time - start)
            time.sleep(0.05)
    host.end()
    return {"count": count, **taken(took)}


def captions_lines(row: dict[str, Any]) -> list[list[str]]:
    return [[f"a caption, from the pipe to a viewer's event (median, p95, longest of {row['count']})", "50 ms",
             f"{row['median']:.1f}, {row['p95']:.1f}, {row['longest']:.1f} ms", yes(row["median"] <= 50)]]


# --- Who comes late --------------------------------------------------------------------------------------------------


def history(options: argparse.Namespace, directory: pathlib.Path, stack: contextlib.ExitStack) -> dict[str, Any]:
    count = 400 if options.check else 2000
    lines = [f"line {number} of a long lesson, as long as lines of captions often are" for number in range(count)]
    file = directory / "captions.txt"
    file.write_text("".join(f"{line}\n" for line in lines))
    host = Member.share(stack, directory, "--captions", str(file))
    wait("the captions at the host", 60, lambda: host.count("caption") >= count)
    viewer = Member.watch(stack, directory)
    wait("the captions at the viewer", 60, lambda: viewer.count("caption") >= count)
    time.sleep(0.5)
    seen = viewer.told("caption")
    entered = viewer.first("paired")["t"]
    return {"count": count, "first": (seen[0]["t"] - entered) * 1e3, "last": (seen[count - 1]["t"] - entered) * 1e3,
            "unequal": int([event["text"] for event in seen] != lines)}


def history_lines(row: dict[str, Any]) -> list[list[str]]:
    return [[f"a late viewer, from being let in to the first and the last of {row['count']} lines", "1000 ms",
             f"{row['first']:.0f}, {row['last']:.0f} ms"
             + (", not all in order" if row["unequal"] else ", all in order"),
             yes(row["first"] <= 1000 and not row["unequal"])]]


# --- Messages both ways, across a restart of each side ---------------------------------------------------------------


def messages(options: argparse.Namespace, directory: pathlib.Path, stack: contextlib.ExitStack) -> dict[str, Any]:
    """Each side sends a third of its messages, the viewer is restarted in the middle, and so on for the host. A message
    is lost if its sender was told that it was delivered and no receiver has it, or if its sender still runs and has no
    result for it.
    """
    host_state, viewer_state = directory / "host", directory / "viewer"

    def share() -> Member:
        return Member.share(stack, host_state)

    def watch() -> Member:
        return Member.watch(stack, viewer_state)

    pair = {"host": share(), "viewer": watch()}
    pair["viewer"].first("room")
    lives = {"host": [pair["host"]], "viewer": [pair["viewer"]]}
    written = {"host": 0, "viewer": 0}
    start = time.monotonic()
    for part, restarted in enumerate(("viewer", "host", None), 1):
        target = options.messages * part // 3
        turn = written["host"] + (target - written["host"]) // 2
        is_restarted = restarted is None
        while min(written.values()) < target:
            for side in pair:
                # As a program does that waits for results: 500 without one at the most.
                for _ in range(min(20, target - written[side], 500 - pair[side].waiting())):
                    written[side] += 1
                    pair[side].message(written[side])
            if restarted and not is_restarted and min(written.values()) >= turn:
                is_restarted = True
                rooms = pair["viewer"].count("room")
                pair[restarted].end()
                pair[restarted] = share() if restarted == "host" else watch()
                lives[restarted].append(pair[restarted])
                # A message that is written while nobody is there is told undelivered; that isn't what is measured.
                wait("both to be in the room", 30, lambda: pair["viewer"].count("room") > rooms * (restarted == "host"))
            time.sleep(0.002)
    for side in pair:
        wait(f"the last results of the {side}", 120, lambda: pair[side].waiting() == 0)
    took = time.monotonic() - start
    for side in pair:
        pair[side].end()
    return {"count": options.messages, "seconds": took, **judged(lives)}


def judged(lives: dict[str, list[Member]]) -> dict[str, Any]:
    """What became of the messages of each side, whose lives are the programs that it was one after the other."""
    row = dict.fromkeys(("lost", "twice", "out_of_order", "undelivered", "cut_off"), 0)
    for side, other in (("host", "viewer"), ("viewer", "host")):
        seen = collections.Counter()
        for receiver in lives[other]:
            numbers = [event["message"] for event in receiver.told("message")]
            row["out_of_order"] += sum(one > next_ for one, next_ in zip(numbers, numbers[1:]))
            seen.update(numbers)
        row["twice"] += sum(count - 1 for count in seen.values())
        for life in lives[side]:
            delivered = {int(event["id"]) for event in life.told("delivered")}
            undelivered = {int(event["id"]) for event in life.told("undelivered")}
            row["lost"] += len([number for number in delivered if number not in seen])
            row["undelivered"] += len(undelivered - set(seen))
            silent = life.sent - delivered - undelivered
            if life is lives[side][-1]:
                row["lost"] += len(silent)
            else:
                row["cut_off"] += len(silent - set(seen))
    return row


def messages_lines(row: dict[str, Any]) -> list[list[str]]:
    return [[f"{row['count']} messages each way, both sides restarted in the middle", "none lost or twice",
             f"{row['seconds']:.1f} s; {row['lost']} lost, {row['twice']} twice, {row['out_of_order']} out of order",
             yes(not row["lost"] and not row["twice"] and not row["out_of_order"])],
            ["of them, written around a restart and not delivered, which the sender was told", "",
             f"{row['undelivered']} ({row['cut_off']} of a program that was ended before it was told)", ""]]


# --- Notes of many, under loss ---------------------------------------------------------------------------------------


def notes(options: argparse.Namespace, directory: pathlib.Path, stack: contextlib.ExitStack) -> dict[str, Any]:
    log = stack.enter_context(open(directory / "log", "a"))
    viewer_end = stack.enter_context(namespace(log))
    relay = stack.enter_context(links.Relay(log, viewer_end, "loss=5%,delay=2ms"))
    host = Member.share(stack, directory / "host", "--max-viewers", "200", bind=links.HOST)
    states = [directory / f"viewer{number}" for number in range(options.viewers)]

    def join(state: pathlib.Path) -> Member:
        return Member.watch(stack, state, entering(viewer_end), links.HOST)

    viewers = [join(state) for state in states]
    for viewer in viewers:
        viewer.first("room", 60)
    half = options.notes // 2
    for number in range(half):
        for author, viewer in enumerate(viewers):
            viewer.note(f"{author}:{number}")
        time.sleep(0.005)
    for author in (-1, -2):
        viewers[author].kill()
        viewers[author] = join(states[author])
        viewers[author].first("room", 60)
    # A program that was started again is another author, with a log of its own.
    names = [f"{author}{'b' if author >= options.viewers - 2 else ''}" for author in range(options.viewers)]
    for number in range(half, options.notes):
        for name, viewer in zip(names, viewers, strict=True):
            viewer.note(f"{name}:{number}")
        time.sleep(0.005)
    start = time.monotonic()
    lasts = [f'"text":"{name}:{options.notes - 1}"' for name in names]
    members_ = [host, *viewers]
    # Everybody has the last note of everybody, and so all of their last lives.
    wait("the last notes", 120, lambda: all(member.has(last) for member in members_ for last in lasts))
    wait("the logs to be equal", 60, lambda: len({member.count("note") for member in members_}) == 1)
    took = max(member.last_time("note") for member in members_) - start
    logs = [member.by_author("note") for member in members_]
    row = {"viewers": options.viewers, "notes": options.notes, "seconds": max(0, took),
           "unequal": sum(log != logs[0] for log in logs),
           "twice": sum(len(numbers) - len(set(numbers)) for log in logs for numbers in log.values()),
           "out_of_order": sum(numbers != sorted(numbers) for log in logs for numbers in log.values()),
           "lost": sum(options.notes - (half if name[-1] == "b" else 0) - len(logs[0].get(name, ())) for name in names)}
    relay.end()
    row["packets_lost"] = relay.counters.get("forward", {}).get("lost")
    return row


def notes_lines(row: dict[str, Any]) -> list[list[str]]:
    return [[f"{row['viewers']} viewers with {row['notes']} notes each, 5 % loss, two killed and restarted: all logs "
             "equal after the last note", "2 s",
             f"{row['seconds']:.2f} s; {row['lost']} lost, {row['twice']} twice, {row['unequal']} logs differ",
             yes(row["seconds"] <= 2 and not any(broken({"notes": row})))]]


# --- Talking again after a restart -----------------------------------------------------------------------------------


def restarts(options: argparse.Namespace, directory: pathlib.Path, stack: contextlib.ExitStack) -> dict[str, Any]:
    """From the moment at which both programs run (the host says `ready`, the viewer was started) to the first message
    that comes from each side at the other.
    """
    host_state, viewer_state = directory / "host", directory / "viewer"

    def share() -> Member:
        return Member.share(stack, host_state)

    def watch() -> Member:
        return Member.watch(stack, viewer_state)

    host, viewer = share(), watch()
    viewer.first("room")
    row = {}
    turn = 0
    # A host that is away for long is looked for every 4 s, unless it is announced.
    for side, away in (("viewer", 0), ("host", 0), ("host", 1 if options.check else 5)):
        taken = []
        for _ in range(options.reps):
            old = host if side == "host" else viewer
            old.kill()
            time.sleep(away)
            if side == "host":
                host = share()
                start = time.monotonic()
            else:
                start = time.monotonic()
                viewer = watch()
            turn += 1
            arrivals = {}
            number = 0
            while len(arrivals) < 2:
                number += 1
                for one, other in ((host, viewer), (viewer, host)):
                    one.message(turn * 1_000_000 + number)
                    mark = f'"message":{turn}'
                    line = other.find(mark + "0")
                    if line:
                        arrivals[other] = line.time
                if time.monotonic() - start > 60:
                    raise Trouble("The two programs don't talk again after a restart.")
                time.sleep(0.02)
            taken.append(max(arrivals.values()) - start)
            # Until the connection is stable again: a lost one is then sought anew, from the shortest pause on.
            time.sleep(6 if side == "host" and not options.check else 0.5)
        row[f"{side}, {away} s away" if away else side] = {"median": statistics.median(taken), "longest": max(taken)}
    return row


def restarts_lines(row: dict[str, Any]) -> list[list[str]]:
    return [[f"after a restart of the {side}: messages both ways again (median, longest)", "2 s",
             f"{times['median']:.2f}, {times['longest']:.2f} s", yes(times["longest"] <= 2)]
            for side, times in row.items()]


# Each row, and its lines for people.
ROWS = {"captions": (captions, captions_lines), "drawn": (drawn, drawn_lines), "history": (history, history_lines),
        "messages": (messages, messages_lines), "notes": (notes, notes_lines), "restarts": (restarts, restarts_lines)}
