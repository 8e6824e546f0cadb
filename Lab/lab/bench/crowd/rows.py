"""The rows of `Scripts/bench crowd`: their scenes and figures."""

import time
from collections.abc import Callable, Sequence
from typing import Any

from lab.bench.crowd.scene import JOINING, JOINING_PAUSE, LAST, SETTLE, Networks, Place, Scene, memory_of, shaped
from lab.common.numbers import median, number
from lab.common.programs import Event

# Frames a second that every viewer of 30 is to get.
LEAST_RATE = 29
# 10 peers with every kind of misbehaviour. Kinds that the host ends at once share a peer and take turns.
MISBEHAVING = ["stop-tcp+lie-constant", "stop-udp", "sigstop", "flood-tcp/garbage-tls",
               "flood-udp+garbage-udp+lie-past", "keyframes+everything", "lie-growing",
               "never-acknowledge+slow-message", "acknowledge-unsent+lie-random", "connect-loop"]
# A class: viewers, and what their access point carries, in Mbit/s. They want two to four times as much.
CLASS, ACCESS_POINTS = 20, (20, 30)
# Viewers that are more than a small machine carries, those of them that leave together, and seconds until the others get
# everything again.
OVERLOAD, LEAVING, BACK = 200, 150, 10
# The links of the other viewers.
LINKS = {"300 kbit/s": "delay=5ms,rate=300k,queue=64k", "20 % loss": "delay=5ms,loss=20%",
         "200 ms round trip": "delay=100ms"}


def say_nothing(_: object) -> None:
    pass


def shown(run: dict[str, Any]) -> str:
    """The main figures of a run, printed as soon as it ends."""
    return (f"slowest {run['fps_lowest']:.1f} frames/s, latency {number(run['latency'])} / "
            f"{number(run['latency_p95'])} ms, {run['lost']} frames lost; host {run['host_cpu']:.0%} of a core, light "
            f"viewers {run['crowd_cpu']:.0%}, idle {run['idle']:.0%} of the machine")


# --- Figures of a group of viewers -----------------------------------------------------------------------------------


def group(run: dict[str, Any], *names: str) -> list[dict[str, Any]]:
    return [viewer for viewer in run["crowd"]["viewers"] if not names or viewer["group"] in names]


def figures(run: dict[str, Any], *names: str) -> dict[str, Any]:
    """The figures of these groups of viewers, in one run."""
    viewers = group(run, *names)
    watching = [viewer for viewer in viewers if viewer["frames"]]
    frames = sum(viewer["frames"] for viewer in viewers)
    own_layers = {layer for viewer in viewers for layer in viewer["layers"]}
    begin = run["begin_after"]
    keyframes = [one for one in run["crowd"]["keyframes"]
                 if begin <= one["at"] < begin + run["crowd"]["seconds"] and one["layer"] in own_layers]
    return {
        "viewers": len(viewers), "without_picture": sum(viewer["firstPictureMs"] is None for viewer in viewers),
        "ended": [viewer["ended"] for viewer in viewers if viewer["ended"]],
        "fps_lowest": min((viewer["fps"] for viewer in viewers), default=0),
        "fps_median": median([viewer["fps"] for viewer in viewers]),
        "lost_most": max((viewer["lost"] for viewer in viewers), default=0),
        "lost": sum(viewer["lost"] for viewer in viewers),
        "gap_longest": max((viewer["longestGapMs"] for viewer in viewers), default=None),
        "latency": median([viewer["latencyMs"]["median"] for viewer in watching]),
        "latency_p95": median([viewer["latencyMs"]["p95"] for viewer in watching]),
        "latency_p95_worst": max((viewer["latencyMs"]["p95"] for viewer in watching), default=None),
        "bytes_a_frame": sum(viewer["bytes"] for viewer in viewers) / frames if frames else None,
        "mbit": median([viewer["bytes"] * 8e-6 / run["crowd"]["seconds"] for viewer in watching]),
        "keyframes": len(keyframes), "layers": run["crowd"]["layers"],
    }


def keep(run: dict[str, Any], *names: str) -> dict[str, Any]:
    """The figures of a run and of the machine, without those of each viewer."""
    crowd = run["crowd"]
    return {**figures(run, *names), "spread": crowd.get("spreadMs"), "host_cpu": run["host_cpu"],
            "crowd_cpu": run["crowd_cpu"], "idle": run["idle"], "rss": run["rss"], "peak": run["peak"],
            "load": run["load"], "real": run["real"], "seconds": crowd["seconds"]}


# --- A growing number of viewers -------------------------------------------------------------------------------------


def viewers(place: Place, say: Callable[[str], None] = say_nothing) -> dict[str, Any]:
    """One, 50 and 200 viewers, as far as the program admits them."""
    found, options = [], place.options
    counts = sorted({min(count, place.most_viewers) for count in options.counts})
    place.prepare(max(counts))
    for repetition in range(options.reps):
        for count in counts if repetition % 2 == 0 else counts[::-1]:
            run = watched_by(place, count, options.bit_rate)
            say(f"{count} viewers: {shown(run)}")
            if count > 100 and run["fps_lowest"] < LEAST_RATE:
                # 200 viewers of 8 Mbit/s are 1.6 Gbit/s, which two cores don't carry from and to themselves.
                say(f"The machine can't carry {count} viewers at {options.bit_rate}: once more at {options.few_bits}")
                run = watched_by(place, count, options.few_bits)
                run["compared"] = watched_by(place, 1, options.few_bits)
            found.append(run)
    return {"runs": found, "limit": place.most_viewers if max(counts) < max(options.counts) else None}


def batches(name: str, count: int, start: float) -> tuple[list[str], float]:
    """Groups of viewers that come one after the other, and how long that takes, in seconds. Each new keyframe goes to
    everybody: a machine that is nearly full must not be overrun where joining isn't what is measured.
    """
    groups = [f"{name}{number}:{min(JOINING, count - number * JOINING)}:{start + number * JOINING_PAUSE}:0.1"
              for number in range(-(-count // JOINING))]
    return groups, len(groups) * JOINING_PAUSE


def watched_by(place: Place, count: int, bit_rate: str) -> dict[str, Any]:
    real = min(place.options.real, count // 5)
    with Scene(place, count, bit_rate) as scene:
        scene.watch(real)
        groups, within = batches("all", count - real, 0)
        begin = within + (SETTLE if count <= 100 else 2 * SETTLE)
        crowd = scene.crowd(groups, begin, place.options.seconds)
        run = scene.measure(crowd)
    run["begin_after"] = begin
    return {"count": count, "bit_rate": bit_rate, **keep(run)}


# --- Memory of one more viewer ---------------------------------------------------------------------------------------


def memory(place: Place, say: Callable[[str], None] = say_nothing) -> dict[str, Any]:
    """The memory of one host with 10 viewers, and later with all. One host, because two hosts differ by more."""
    few, many = 10, min(max(place.options.counts), place.most_viewers)
    place.prepare(many)
    found = []
    if many <= few:
        return {"runs": found}
    for _ in range(place.options.reps):
        # Waits first for what grows with time and not with viewers.
        rest = 4 + 3 * SETTLE
        groups, within = batches("rest", many - few, rest)
        begin = rest + within + 2 * SETTLE
        with Scene(place, many, place.options.few_bits if many > 100 else place.options.bit_rate) as scene:
            crowd = scene.crowd([f"few:{few}:0:1", *groups], begin, 2)
            started = scene.moment(crowd, "started")
            time.sleep(max(0, started + rest - 0.5 - time.monotonic()))
            before = memory_of(scene.host.pid)
            scene.measure(crowd)
            after = memory_of(scene.host.pid)
        each = (after["own"] - before["own"]) / (many - few)
        found.append({"few": few, "many": many, "before": before, "after": after, "each": each})
        say(f"{many - few} viewers more: {each:.0f} KiB each")
    return {"runs": found}


# --- 40 join at once -------------------------------------------------------------------------------------------------


def joins(place: Place, say: Callable[[str], None] = say_nothing) -> dict[str, Any]:
    """40 viewers join within a second while 5 watch."""
    found = []
    place.prepare(45)
    for _ in range(place.options.reps):
        with Scene(place, 45, place.options.bit_rate) as scene:
            crowd = scene.crowd(["watching:5:0:0.2", f"joining:40:{SETTLE}:1"], SETTLE - 0.2, 4)
            run = scene.measure(crowd)
            run["begin_after"] = SETTLE - 0.2
            found.append(joined(run))
        say(f"{found[-1]['joined']} of 40 joined: first picture after {number(found[-1]['first_median'], 0)} ms, the "
            f"last after {found[-1]['first_longest']:.0f} ms; {found[-1]['busiest']} keyframes in the busiest second")
    return {"runs": found}


def joined(run: dict[str, Any]) -> dict[str, Any]:
    joining = group(run, "joining")
    times = [viewer["firstPictureMs"] for viewer in joining if viewer["firstPictureMs"] is not None]
    paired = [viewer["pairedMs"] for viewer in joining if viewer["pairedMs"] is not None]
    keyframes = run["crowd"]["keyframes"]
    storm = [one for one in keyframes if one["at"] >= SETTLE - 0.2]
    # The time of viewers that joined a stream at rest.
    usual = median([one["bytes"] for one in keyframes if one["at"] < SETTLE - 0.2])
    return {
        "joined": len(times), "first_median": median(times), "first_longest": max(times, default=float("inf")),
        "paired_median": median(paired), "paired_longest": max(paired, default=None),
        "busiest": max((sum(one["at"] <= other["at"] < one["at"] + 1 for other in storm) for one in storm), default=0),
        "keyframes": len(storm), "keyframe_median": median([one["bytes"] for one in storm]),
        "keyframe_largest": max((one["bytes"] for one in storm), default=None), "keyframe_usual": usual,
        "watching": figures(run, "watching"), "refused": sorted({viewer["ended"] for viewer in joining
                                                                 if viewer["ended"]}),
        "host_cpu": run["host_cpu"], "crowd_cpu": run["crowd_cpu"], "idle": run["idle"], "load": run["load"],
    }


# --- 10 of 50 misbehave ----------------------------------------------------------------------------------------------


def misbehaving(place: Place, say: Callable[[str], None] = say_nothing) -> dict[str, Any]:
    """40 honest viewers with 10 misbehaving ones, and with 10 more honest ones, in turns."""
    found = {"without": [], "with": [], "peers": []}
    place.prepare(60)
    for repetition in range(max(2, place.options.reps)):
        peers = place.options.misbehave or MISBEHAVING
        for has_peers in (False, True) if repetition % 2 == 0 else (True, False):
            run, seen = beside(place, peers if has_peers else [], len(peers))
            found["with" if has_peers else "without"].append(run)
            say(f"{'with' if has_peers else 'without'} misbehaviour: {shown(run)}")
            if has_peers:
                found["peers"].append(seen)
                for peer in seen:
                    say(f"    {peer['kinds']}: {words_of(peer)}")
    return found


def beside(place: Place, peers: list[str], others: int, honest: int = 40, size: str = "1920x1080",
           bit_rate: str | None = None, seconds: float | None = None,
           settle: float = SETTLE) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    seconds = seconds or place.options.seconds
    within = honest / 20
    begin = within + settle + 1
    groups = [f"honest:{honest}:0:{within}"] + ([] if peers else [f"others:{others}:{within}:0.5"])
    with Scene(place, honest + others, bit_rate or place.options.bit_rate, size) as scene:
        crowd = scene.crowd(groups, begin, seconds)
        # They join when most of the honest ones watch.
        crowd.wait_for("started")
        scene.misbehave(peers, begin + seconds + 2, first=honest)
        run = scene.measure(crowd)
        seen = scene.end_misbehaving()
        run["host_events"] = scene.told()
    run["begin_after"] = begin
    for peer in seen:
        reasons = {}
        for event in run["host_events"]:
            if event["name"] == peer["name"] and event["reason"]:
                reasons[event["reason"]] = reasons.get(event["reason"], 0) + 1
        peer["host_said"] = reasons
    return keep(run, "honest"), seen


def words_of(peer: dict[str, Any]) -> str:
    if "trouble" in peer:
        return f"came to no end: {peer['trouble']}"

    def listed(counts: dict[str, int]) -> str:
        return "; ".join(f"{count} × {reason}" for reason, count in counts.items())

    return (f"let in {peer['joins']} times; the host: {listed(peer['host_said']) or 'nothing'}; it saw: "
            f"{listed(peer['endings']) or 'nothing'}")


# --- Different networks ----------------------------------------------------------------------------------------------


def networks(place: Place, say: Callable[[str], None] = say_nothing) -> dict[str, Any]:
    """A viewer on a clean link alone, and with three others on bad links, in turns."""
    found: dict[str, Any] = {"alone": [], "beside": [], "links": list(LINKS)}
    place.prepare(4)
    for repetition in range(max(2, place.options.reps)):
        for is_alone in (True, False) if repetition % 2 == 0 else (False, True):
            run = with_links(place, [] if is_alone else list(LINKS.values()))
            found["alone" if is_alone else "beside"].append(run)
            say(f"clean {'alone' if is_alone else 'beside'}: {shown(run)}"
                + "".join(f"; {name} {other['fps_lowest']:.1f} frames/s"
                          for name, other in zip(LINKS, run["others"])))
    return found


def with_links(place: Place, links: Sequence[str]) -> dict[str, Any]:
    # The bandwidth estimate of a bad path settles within some seconds.
    begin, seconds = SETTLE + 5, place.options.seconds
    with Scene(place, 4, place.options.bit_rate, bind=None) as scene, Networks(place, links) as ends:
        clean = scene.crowd(["clean:1"], begin, seconds)
        others = [scene.crowd(["other:1"], begin, seconds, first=number, at=at, target=target,
                              more=["--one-address"]) for number, (at, target) in enumerate(ends.ends, 1)]
        run = scene.measure(clean)
        results = [Scene.result_of(other) for other in others]
    run["begin_after"] = begin
    kept = keep(run)
    kept["others"] = [figures({"crowd": result, "begin_after": begin}) for result in results]
    return kept


# --- A class behind one access point ---------------------------------------------------------------------------------


def classroom(place: Place, say: Callable[[str], None] = say_nothing) -> dict[str, Any]:
    """Twenty viewers with one bottleneck, which carries a fraction of what they want."""
    found = []
    place.prepare(CLASS)
    for _ in range(place.options.reps):
        for carried in ACCESS_POINTS:
            # The shares settle within some seconds after the last one has come.
            begin = 2 + 3 * SETTLE
            with shaped(carried), Scene(place, CLASS, "4M", "640x360",
                                        source=["--source", "pattern", "--content", "video", "--size", "640x360",
                                                "--max-fps", "30"]) as scene:
                crowd = scene.crowd([f"class:{CLASS}:0:2"], begin, place.options.seconds)
                run = scene.measure(crowd)
            run["begin_after"] = begin
            rates = [viewer["bytes"] * 8e-6 / run["crowd"]["seconds"] for viewer in group(run)]
            found.append({**keep(run), "carried": carried, "rate_least": min(rates), "rate_most": max(rates),
                          "used": sum(rates)})
            say(f"{CLASS} viewers behind {carried} Mbit/s: {min(rates):.2f} to {max(rates):.2f} Mbit/s, "
                f"{sum(rates):.1f} in all; {shown(found[-1])}")
    return {"runs": found}


# --- More than the machine carries -----------------------------------------------------------------------------------


def overload(place: Place, say: Callable[[str], None] = say_nothing) -> dict[str, Any]:
    """200 viewers, of which 150 leave together; and one that comes while all watch."""
    found = []
    place.prepare(OVERLOAD)
    for _ in range(place.options.reps):
        groups, within = batches("all", LEAVING, 0)
        begin, seconds = within + 2 * SETTLE, place.options.seconds
        # The viewers would have machines of their own: the host is the one that gets what they leave.
        with Scene(place, OVERLOAD, place.options.bit_rate, host=LAST) as scene:
            # Whoever leaves does so when it has measured. The others measure from then on.
            leaving = scene.crowd(groups, begin, seconds)
            staying = scene.crowd([f"staying:{OVERLOAD - LEAVING}:0:{within}"], begin + seconds + BACK, seconds,
                                  first=LEAVING)
            scene.moment(leaving, "begin")
            # A real one.
            scene.watch(1)
            run = scene.measure(leaving)
            after = scene.measure(staying)
            events = scene.host.events
            newcomer = scene.real[0].events
        run["begin_after"], after["begin_after"] = begin, begin + seconds + BACK
        made: dict[str, Any] = {
            "all": keep(run), "after": keep(after), "newcomer": said_to(newcomer),
            "sheds": [event["sheds"] for event in events if event["event"] == "overload"],
            "sent": [round(event["kbps"] / 1000, 1) for event in events if event["event"] == "stats"]}
        found.append(made)
        say(f"{OVERLOAD} viewers: {shown(made['all'])}; {number(made['all']['mbit'])} Mbit/s each; the host "
            f"sheds {', '.join(made['sheds']) or 'nothing'}; one that comes: {made['newcomer']}; "
            f"{OVERLOAD - LEAVING} of them, {BACK} s after {LEAVING} have left: {shown(made['after'])}, "
            f"{number(made['after']['mbit'])} Mbit/s each")
    return {"runs": found}


def said_to(events: list[Event]) -> str:
    """What became of a viewer that came: it got the picture, or was told why not."""
    for event in events:
        if event["event"] == "first-frame":
            return "gets the picture"
        if event["event"] in ("retry", "refused") and event.get("reason"):
            return f"is told: {event['reason']}"
    return "nothing"
