"""Scripts/bench room: members of a room of equals, each in a network of its own, with real processes."""

import argparse
import json
import os
import random
import signal
import statistics
import time

from lab.common import rows as benchrows
from lab.common import laboratory
from lab.network import netlab
from lab.common import records as results
from lab.bench.room.cables import Cables
from lab.common.laboratory import Trouble
from lab.common.members import Member, wait
from lab.bench.wall import decoded, new_screen, rate_of, used

NAMES = ("words", "pictures", "faults", "grid")
PORT = 52345


def parse(arguments):
    parser = argparse.ArgumentParser(
        prog="Scripts/bench room",
        description="Members of a room run in network namespaces of their own, joined by a router: who meets whom and how"
        " soon, words under loss and across a split, pictures through another member, and what dies, freezes, moves and"
        " comes back.")
    parser.add_argument("--rows", nargs="+", metavar="ROW", choices=NAMES, default=list(NAMES),
                        help="of " + ", ".join(NAMES) + " (all)")
    parser.add_argument("--words", type=int, default=1000, help="notes and captions of all members together (1000)")
    parser.add_argument("--seconds", type=int, default=15, help="that pictures are measured (15)")
    parser.add_argument("--json", metavar="FILE", help="write all figures there, too")
    parser.add_argument("--check", action="store_true",
                        help="instead: a short run with fewer members, for the tests; exit status 1 if anything is lost or "
                        "wrong")
    parser.add_argument("--no-history", action="store_true",
                        help="print only; with --check or without some rows, nothing is added either")
    parser.add_argument("--no-setup", action="store_true", help="install nothing")
    options = parser.parse_args(arguments)
    options.members, options.split = 8, 10
    if options.check:
        options.members, options.words, options.split, options.seconds = 4, 80, 4, 3
    if not 20 <= options.words <= 5000 or not 2 <= options.seconds <= 600:
        parser.error("--words is 20 to 5000, --seconds 2 to 600")
    return options


def run(arguments):
    if arguments[:1] == ["--inside"]:
        return inside(arguments[1:])
    return benchrows.outside("room", arguments, parse(arguments), lambda environment: environment.update(
        BEAMROOM_RELAY=netlab.build_relay()))


def inside(arguments):
    options = parse(arguments)
    laboratory.enter()
    found, entry = benchrows.inside("room", options, lambda row, *place: globals()[row](options, *place))
    print(f"{results.describe(entry['machine'])}; real processes on one machine, each in a network of its own; commit "
          f"{entry['commit']}\n")
    print(results.table(lines(found), ["", "aim", "measured", "reached"]))
    benchrows.keep("room", options, entry, NAMES)
    return 1 if any(row.get("wrong") for row in found.values()) else 0


def lines(found):
    """The rows for people: what, its aim, what was measured, and whether that reaches the aim."""
    return [line for name in found for line in globals()[f"{name}_lines"](found[name])]


def verdict(is_reached):
    return "yes" if is_reached else "no"


# --- A room of members -----------------------------------------------------------------------------------------------


class Person:
    """A member of the room, which can be ended, started again, frozen and moved."""

    def __init__(self, stack, directory, cables, number, *more):
        self.stack, self.cables, self.number, self.more = stack, cables, number, more
        self.name = f"Member {number}"
        self.state = directory / f"member{number}"
        self.program = None

    def start(self, *arguments):
        self.program = Member(
            self.stack, self.state,
            ["room", *arguments, "--no-discovery", *([] if "--window-display" in self.more else ["--no-window"]),
             "--name", self.name, "--accept", "all", "--relays", "all", "--source",
             "pattern", *self.more], self.cables.at(self.number))
        return self

    def people(self):
        """Who is here by what was told last: names, and the number of hops to each."""
        line = next((line for line in reversed(self.program.lines[:]) if '"event":"people"' in line.text), None)
        if not line:
            return {}
        return {person["name"]: person["hops"] for person in json.loads(line.text)["people"] if person["here"]}

    def sees(self, names):
        return set(self.people()) == set(names)

    def log(self):
        """The words of each author in the order in which they came."""
        log = {}
        for event in self.program.events("note") + self.program.events("caption"):
            author, _, number = event["text"].partition(":")
            if number:
                log.setdefault(author, []).append(int(number))
        return log


def meet(options, directory, stack, count, losses=None, more=lambda number: ()):
    """So many members in one room; the first has made it, and the others have entered through it at the same time."""
    cables = Cables(stack, directory, count, losses)
    people = [Person(stack, directory, cables, number, *more(number)) for number in range(1, count + 1)]
    people[0].start("study").program.first("ready", 60)
    for person in people[1:]:
        person.start("--at", cables.address(1))
    begin = time.monotonic()
    names = [person.name for person in people]
    try:
        wait("all to know all", 60, lambda: all(person.sees(names) for person in people))
    except Trouble as trouble:
        said = "\n".join(f"{person.name}: {person.program.last_words()}" for person in people)
        raise Trouble(f"{trouble}\n{said}")
    last = max(person.program.first("ready")["t"] for person in people)
    # From the last one's start; the others wait for nobody.
    took = max(seen_at(person, names) for person in people) - begin
    return cables, people, {"members": count, "all_know_all": took, "last_ready": last}


def seen_at(person, names):
    """When the person first knew all of these."""
    for line in person.program.lines[:]:
        if '"event":"people"' in line.text:
            here = {one["name"] for one in json.loads(line.text)["people"] if one["here"]}
            if here == set(names):
                return line.time
    raise Trouble(f"{person.name} doesn't know all.")


# --- Words under loss and across a split -----------------------------------------------------------------------------


def words(options, directory, stack):
    cables, people, row = meet(options, directory, stack, options.members, "loss=2.5%,delay=1ms")
    generator = random.Random(1)
    written = {person.name: 0 for person in people}

    def say(count):
        for _ in range(count):
            person = generator.choice(people)
            written[person.name] += 1
            text = f"{person.name}:{written[person.name]}"
            person.program.write({"note": text} if generator.random() < 0.5 else {"caption": text})
            time.sleep(0.004)

    def missing():
        """Of each member, what it lacks."""
        return {person.name: {name: sorted(set(range(1, count + 1)) - set(person.log().get(name, [])))[:9]
                              for name, count in counts().items() if len(person.log().get(name, [])) != count}
                for person in people}

    def wait_for_all(what):
        try:
            wait(what, 120, lambda: settled(counts()))
        except Trouble as trouble:
            said = "\n".join(f"{person.name}, {person.people()}: {person.program.last_words()}" for person in people)
            raise Trouble(f"{trouble} Missing: {missing()}\n{said}")

    def settled(expected):
        return all({author: len(lines) for author, lines in person.log().items()} == expected for person in people)

    def counts():
        return {name: count for name, count in written.items() if count}

    def arrived():
        """How long after the last word everybody had everything."""
        begin = time.monotonic()
        wait_for_all("everything to be everywhere")
        return max(0, max(max(person.program.last_time("note"), person.program.last_time("caption"))
                          for person in people) - begin)

    say(options.words)
    row["words"], row["arrived"] = options.words, arrived()
    # Two halves, which go on.
    half = len(people) // 2
    cables.cut([(one, other) for one in range(1, half + 1) for other in range(half + 1, len(people) + 1)])
    sides = [[person.name for person in people[:half]], [person.name for person in people[half:]]]
    begin = time.monotonic()
    wait("each half to be alone", 30,
         lambda: all(person.sees(side) for side, group in zip(sides, (people[:half], people[half:])) for person in group))
    row["noticed"] = time.monotonic() - begin
    say(options.words // 5)
    time.sleep(max(0, options.split - (time.monotonic() - begin)))
    row["kept_apart"] = int(not any(person.log() == people[-1].log() for person in people[:half]))
    healed = time.monotonic()
    cables.join()
    wait_for_all("everything to be everywhere again")
    names = [person.name for person in people]
    row["healed"] = max(max(person.program.last_time("note"), person.program.last_time("caption"))
                        for person in people) - healed
    wait("all to know all again", 60, lambda: all(person.sees(names) for person in people))
    # One link of the mesh is missing.
    wait("the whole mesh", 60, lambda: set(people[0].people().values()) == {0, 1})
    cables.cut([(1, len(people))])
    wait("the detour", 60, lambda: people[0].people().get(people[-1].name) == 2)
    say(options.words // 5)
    row["detour"] = arrived()
    row["hops"] = people[0].people().get(people[-1].name)
    row["lost"] = sum(written[name] - len(set(person.log().get(name, []))) for person in people for name in written)
    row["twice"] = sum(len(lines) - len(set(lines)) for person in people for lines in person.log().values())
    # Notes and captions are listed one after the other: each has to be in its order.
    row["out_of_order"] = sum(
        by_author(person, kind)[author] != sorted(by_author(person, kind)[author])
        for person in people for kind in ("note", "caption") for author in by_author(person, kind))
    row["wrong"] = row["lost"] or row["twice"] or row["out_of_order"] or not row["kept_apart"]
    row["packets_lost"] = cables.end()
    return row


def by_author(person, kind):
    log = {}
    for event in person.program.events(kind):
        author, _, number = event["text"].partition(":")
        log.setdefault(author, []).append(int(number))
    return log


def words_lines(row):
    count = row["members"]
    return [
        [f"{count} members in {count} networks, 5 % loss between any two, entering at once: all know all", "3 s",
         f"{row['all_know_all']:.2f} s", verdict(row["all_know_all"] <= 3)],
        [f"{row['words']} notes and captions of all: lost, twice, out of order; the last one is everywhere after", "0; 0; 0",
         f"{row['lost']}; {row['twice']}; {row['out_of_order']}; {row['arrived']:.2f} s", verdict(not row["wrong"])],
        ["two halves: each knows that it is alone after", "5 s", f"{row['noticed']:.2f} s", verdict(row["noticed"] <= 5)],
        ["joined again: all logs equal after", "2 s", f"{row['healed']:.2f} s", verdict(row["healed"] <= 2)],
        ["one link of the mesh missing: hops; the last word everywhere after", "2",
         f"{row['hops']}; {row['detour']:.2f} s", verdict(row["hops"] == 2)],
    ]


# --- Pictures, and a member in between -------------------------------------------------------------------------------


def pictures(options, directory, stack):
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
        events = [event for event in decoded(program.lines[seen[program]:], "stats") if event.get("host") in sharers]
        spans = [event["latencyMs"]["captureToPicture"]["median"] for event in events
                 if "captureToPicture" in event.get("latencyMs", {})]
        rates = [rate_of([event for event in events if event["host"] == name], "frames") for name in sharers]
        row[key] = {"latency": statistics.median(spans) if spans else None, "fps": min(rates)}
    row["more"] = (row["relayed"]["latency"] or 1e9) - (row["direct"]["latency"] or 0)
    # The cable is there again: the direct way is taken up, and nothing stands.
    cables.join()
    wait("the direct way", 30, lambda: all(people[3].people().get(name) == 1 for name in sharers))
    time.sleep(4)
    last = len(fourth.lines)
    time.sleep(2.5)
    row["back"] = min(rate_of([event for event in decoded(fourth.lines[last:], "stats") if event.get("host") == name],
                              "frames") for name in sharers)
    row["wrong"] = row["relayed"]["fps"] <= 0 or row["back"] <= 0
    return row


def frames(program, name, count):
    """Whether figures of this member's picture were told so often."""
    return len([line for line in program.lines[:] if f'"host":"{name}"' in line.text and '"event":"stats"' in line.text]) >= count


def moving(program, name, start, times=3):
    """Whether the newest figures, of which there are some each second, all have more frames than the ones before."""
    events = [event["frames"] for event in decoded(program.lines[start:], "stats") if event.get("host") == name][-times:]
    return len(events) == times and all(one < next_ for one, next_ in zip(events, events[1:]))


def pictures_lines(row):
    return [
        ["two share, a third sees both; a fourth reaches only the third: it has both after", "",
         f"{row['through']:.1f} s", ""],
        ["  from the screen to the decoded picture, at the third and through it (medians); more", "10 ms",
         f"{results.number(row['direct']['latency'], 1, ' ms')}, {results.number(row['relayed']['latency'], 1, ' ms')}; "
         f"{row['more']:.1f} ms", verdict(row["more"] <= 10)],
        ["  frames a second of 30, at the third and through it (least of both pictures)", "",
         f"{row['direct']['fps']:.1f}, {row['relayed']['fps']:.1f}", ""],
        ["  the cable is there again: frames a second on the direct way", "", f"{row['back']:.1f}", ""],
    ]


# --- What dies, freezes, moves and comes back ------------------------------------------------------------------------


def faults(options, directory, stack):
    count = 4 if options.check else 6
    share = ("--share", "--size", "320x180", "--max-fps", "10")
    cables, people, row = meet(options, directory, stack, count, more=lambda number: share if number == 2 else ())
    names = [person.name for person in people]
    second, others = people[1], [person for person in people if person.number != 2]
    without = [name for name in names if name != second.name]
    for person in others:
        person.program.line(f'"host":"{second.name}","', 60)

    def until(what, is_right):
        begin = time.monotonic()
        wait(what, 30, is_right)
        return time.monotonic() - begin

    def pictures_back():
        marks = [len(person.program.lines) for person in others]
        return until("the picture to come back", lambda: all(
            moving(person.program, second.name, mark, 2) for person, mark in zip(others, marks)))

    second.program.kill()
    row["killed"] = until("the killed one to be gone", lambda: all(person.sees(without) for person in others))
    second.start("study")
    row["restarted"] = until("it to be here again", lambda: all(person.sees(names) for person in people))
    row["pictures_restarted"] = pictures_back()
    os.kill(second.program.process.pid, signal.SIGSTOP)
    row["frozen"] = until("the frozen one to be gone", lambda: all(person.sees(without) for person in others))
    os.kill(second.program.process.pid, signal.SIGCONT)
    row["thawed"] = until("it to be here again", lambda: all(person.sees(names) for person in people))
    row["pictures_thawed"] = pictures_back()
    cables.move(2)
    begin = time.monotonic()
    # It is lost first, or everybody notices at once that it has moved.
    wait("the moved one to be linked from its new address", 30, lambda: cables.linked(2, 1))
    row["moved"] = time.monotonic() - begin + until("all to see all", lambda: all(person.sees(names) for person in people))
    row["pictures_moved"] = pictures_back()
    time.sleep(2)
    pairs = cables.pairs(PORT)
    row["links"], row["doubled"] = len(pairs), sum(found != 1 for found in pairs.values())
    row["expected_links"] = count * (count - 1) // 2
    row["wrong"] = row["doubled"] or row["links"] != row["expected_links"]
    return row


def faults_lines(row):
    lines = [[f"a member that shares {what}: who is here is right everywhere after", "5 s", f"{row[key]:.2f} s",
              verdict(row[key] <= 5)]
             for what, key in (("is killed", "killed"), ("is started again", "restarted"), ("freezes", "frozen"),
                               ("goes on", "thawed"), ("has another address", "moved"))]
    return lines + [
        ["  what it shares is seen by all again within: started again, going on, moved (by figures of each second)", "",
         ", ".join(f"{row[f'pictures_{key}']:.1f}" for key in ("restarted", "thawed", "moved")) + " s", ""],
        ["pairs of members with exactly one connection", str(row["expected_links"]),
         str(row["links"] - row["doubled"]), verdict(not row["wrong"])],
    ]


# --- Eight in one window ---------------------------------------------------------------------------------------------


def grid(options, directory, stack):
    count = 3 if options.check else 8
    size, rate = "1280x720", 30
    display, server = new_screen(stack, "1920x1080")
    # The others don't watch each other: that is the work of other machines.
    share = ("--share", "--size", size, "--max-fps", str(rate), "--content", "video", "--no-watch")
    looks = ("--window-display", display, "--renderer", "software", *([] if options.check else ["--fullscreen"]))
    _, people, row = meet(options, directory, stack, count, more=lambda number: share if number < count else looks)
    viewer = people[-1].program
    wait("all pictures", 60, lambda: viewer.count("first-frame") >= count - 1)
    time.sleep(3)
    pids = {"viewer": [viewer.process.pid], "x": [server],
            "others": [person.program.process.pid for person in people[:-1]]}
    before, begin = {who: used(found) for who, found in pids.items()}, time.monotonic()
    seen = len(viewer.lines)
    time.sleep(options.seconds)
    taken = time.monotonic() - begin
    spent = {who: (used(found) - before[who]) / taken * 100 for who, found in pids.items()}
    tiles = {}
    for event in decoded(viewer.lines[seen:], "stats"):
        if "host" in event:
            tiles.setdefault(event["host"], []).append(event)
    if len(tiles) != count - 1:
        raise Trouble(f"Only {len(tiles)} of {count - 1} members have figures.\n{viewer.last_words()}")
    shown = [rate_of(events, "shown") for events in tiles.values()]
    row.update(shown_least=min(shown), shown_median=statistics.median(shown), viewer=spent["viewer"], x=spent["x"],
               other=spent["others"] / (count - 1), size=size, rate=rate,
               sizes=sorted({f"{events[-1]['width']}x{events[-1]['height']}" for events in tiles.values()}))
    row["wrong"] = min(shown) <= 0
    return row


def grid_lines(row):
    count = row["members"] - 1
    return [
        [f"{count} members share {row['size']} with {row['rate']} frames a second, one shows all in a grid: shown a second in"
         " each tile (least, median)", "24", f"{row['shown_least']:.1f}, {row['shown_median']:.1f}",
         verdict(row["shown_least"] >= 24)],
        ["  sent and decoded in", "", ", ".join(row["sizes"]), ""],
        ["  processor time of the one that shows all; of its X server; of each other one (another machine's)", "",
         f"{row['viewer']:.0f} %; {row['x']:.0f} %; {row['other']:.0f} %", ""],
    ]
