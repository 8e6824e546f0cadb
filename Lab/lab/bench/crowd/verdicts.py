"""The output of `Scripts/bench crowd`: figures, aims, and whether each aim is reached."""

import dataclasses
from typing import Any

from lab.bench.crowd.rows import LEAST_RATE, words_of
from lab.common import tables
from lab.common.numbers import median, number

YES, NO, UNKNOWN = "yes", "no", "not measured"


@dataclasses.dataclass
class Line:
    what: str
    aim: str
    figure: str
    reached: str


def of(runs: list[dict[str, Any]], name: str) -> Any:
    return median([run.get(name) for run in runs])


# --- Rows ------------------------------------------------------------------------------------------------------------


def viewers(found: dict[str, Any]) -> list[Line]:
    runs = found["runs"]
    by_count = {count: [run for run in runs if run["count"] == count]
                for count in sorted({run["count"] for run in runs})}
    lines = []
    for count, some in by_count.items():
        title = f"{count} viewer{'s' if count > 1 else ''}"
        aim = {1: None, 50: 1.5}.get(count, 3 if count > 50 else None)
        note = " (the aim is for 200)" if 50 < count < 200 else ""
        bits = some[0]["bit_rate"]
        if count > 1 and 1 in by_count:
            compared = [run["compared"] for run in some if "compared" in run] or by_count[1]
            ratio = of(some, "host_cpu") / of(compared, "host_cpu")
            # A host that sends fewer frames takes less time; that doesn't reach the aim.
            slow = min(run["fps_median"] for run in some) < LEAST_RATE
            lines.append(Line(f"{title}, {bits}: host's CPU, to one viewer's" + note, f"≤ {aim} ×" if aim else "",
                              f"{ratio:.2f} × ({of(some, 'host_cpu'):.0%} of a core"
                              + (f", at {of(some, 'fps_median'):.0f} frames/s)" if slow else ")"),
                              "" if not aim else UNKNOWN if count not in (50, 200)
                              else tables.yes(ratio <= aim and not slow)))
        else:
            lines.append(Line(f"{title}, {bits}: host's CPU", "", f"{of(some, 'host_cpu'):.0%} of a core", ""))
        lowest = min(run["fps_lowest"] for run in some)
        lines.append(Line(f"{title}: slowest viewer, frames a second", f"≥ {LEAST_RATE}",
                          f"{lowest:.1f} ({max(run['lost_most'] for run in some)} lost at the most)",
                          tables.yes(lowest >= LEAST_RATE and not any(run["without_picture"] for run in some))))
        spreads = [run["spread"] for run in some if run["spread"]]
        if count > 1 and not spreads:
            lines.append(Line(f"{title}: the last viewer served", "< 3 ms" if count == 50 else "",
                              "no frame that 9 of 10 viewers got", NO if count == 50 else ""))
        elif count > 1:
            middle, late = median([one["median"] for one in spreads]), median([one["p95"] for one in spreads])
            lines.append(Line(f"{title}: the last viewer served, behind the first (median, p95)",
                              "< 3 ms" if count == 50 else "", f"{middle:.2f}, {late:.2f} ms",
                              tables.yes(middle < 3) if count == 50 else ""))
        reals = [one for run in some for one in run["real"]]
        real = f"; real viewers {number(median([one['fps'] for one in reals]))} frames/s" if reals else ""
        lines.append(Line(f"{title}: latency (median, p95)", "",
                          f"{number(of(some, 'latency'))}, {number(of(some, 'latency_p95'))} ms; each "
                          f"{number(of(some, 'mbit'))} Mbit/s, {of(some, 'rss') / 1024:.0f} MiB; the light viewers "
                          f"took {of(some, 'crowd_cpu'):.0%} of a core{real}", ""))
    return lines


def memory(found: dict[str, Any]) -> list[Line]:
    runs = found["runs"]
    if not runs:
        return []
    each = of(runs, "each")
    return [Line(f"memory of one more viewer, from {runs[0]['few']} to {runs[0]['many']} of one host", "< 100 KiB",
                 f"{each:.0f} KiB", tables.yes(each < 100))]


def joins(found: dict[str, Any]) -> list[Line]:
    runs = found["runs"]
    title = "40 join within 1 s"
    longest, joined = max(run["first_longest"] for run in runs), min(run["joined"] for run in runs)
    missed = max(run["watching"]["lost_most"] for run in runs)
    busiest = max(run["busiest"] for run in runs)
    sizes = [(run["keyframe_largest"] or 0) / run["keyframe_usual"] for run in runs if run["keyframe_usual"]]
    lines = [
        Line(f"{title}: first picture (median, longest)", "≤ 500 ms",
             f"{number(of(runs, 'first_median'), 0)}, {longest:.0f} ms; {joined} of 40 have one", tables.yes(longest <= 500
                                                                                                  and joined == 40)),
        Line(f"{title}: of that, until let in (median, longest)", "",
             f"{number(of(runs, 'paired_median'), 0)}, "
             f"{number(max(run['paired_longest'] or 0 for run in runs), 0)} ms", ""),
        Line(f"{title}: frames missed by one of the 5 who watched", "0",
             f"{missed}; longest gap {number(max(run['watching']['gap_longest'] for run in runs), 0)} ms",
             tables.yes(missed == 0)),
        Line(f"{title}: keyframes in the busiest second", "≤ 5", f"{busiest}", tables.yes(busiest <= 5)),
    ]
    if sizes:
        lines.append(Line(f"{title}: the largest keyframe, to a usual one", "≤ 1.25 ×",
                          f"{max(sizes):.2f} × (usual {of(runs, 'keyframe_usual') / 1000:.0f} kB, median here "
                          f"{number((of(runs, 'keyframe_median') or 0) / 1000, 0)} kB)", tables.yes(max(sizes) <= 1.25)))
    return lines


# Compared figures: name, words, digits, unit, which direction is worse, and the minimum noise (a share, an amount).
MORE, LESS, OTHER = 1, -1, 0
COMPARED = [
    ("fps_lowest", "frames a second of the slowest", 1, "", LESS, 0.01, 0.3),
    ("lost", "frames lost by all", 0, "", MORE, 0, 2),
    ("latency", "latency, median", 1, " ms", MORE, 0.05, 0.5),
    ("latency_p95", "latency, p95", 1, " ms", MORE, 0.05, 1),
    ("bytes_a_frame", "bytes a frame", 0, "", OTHER, 0.03, 0),
    ("keyframes", "keyframes", 0, "", MORE, 0, 1),
]


def compared(title: str, without: list[dict[str, Any]], with_: list[dict[str, Any]]) -> list[Line]:
    """Compares runs with something to runs without it. Reached if the difference of the medians is within the noise:
    the range of the runs without it, or the minimum noise above if that is more. If those runs don't reach their frame
    rate, as on a busy machine, there is no verdict.
    """
    is_at_rest = min(run["fps_lowest"] for run in without) >= LEAST_RATE
    lines = []
    for name, words, digits, unit, worse_way, share, amount in COMPARED:
        before, after = [run[name] for run in without], [run[name] for run in with_]
        if None in before or None in after:
            # A run in which nobody got a frame has no latency.
            lines.append(Line(f"{title}: {words}", "as without", "none", NO))
            continue
        noise = max(max(before) - min(before), share * abs(median(before)), amount)
        change = median(after) - median(before)
        worse = change * worse_way if worse_way else abs(change)
        lines.append(Line(f"{title}: {words}", "as without",
                          f"{number(median(before), digits)} → {number(median(after), digits)}{unit} "
                          f"(noise {number(noise, max(digits, 1))})",
                          tables.yes(worse <= noise) if is_at_rest else UNKNOWN))
    return lines


# The host's reasons for viewers that left by themselves, or returned; the last two are in older results.
OWN_ENDINGS = {"its program has ended", "another viewer of the same device took its place",
               "it has ended", "another one of the same device has come"}


def misbehaving(found: dict[str, Any]) -> list[Line]:
    lines = compared("10 of 50 misbehave, the other 40", found["without"], found["with"])
    silent = [peer["kinds"] for seen in found["peers"] for peer in seen if "trouble" in peer]
    evicted = sorted({peer["kinds"] for seen in found["peers"] for peer in seen
                      if set(peer.get("host_said", ())) - OWN_ENDINGS})
    told = sorted({peer["kinds"] for seen in found["peers"] for peer in seen
                   if any(words.startswith("told: ") for words in peer.get("endings", ()))})
    lines.append(Line("10 of 50 misbehave: evicted, by the host's words", "", f"{', '.join(evicted) or 'none'}"
                      + (f"; without a result: {', '.join(silent)}" if silent else ""), ""))
    lines.append(Line("10 of 50 misbehave: told why", "", f"{', '.join(told) or 'none'}", ""))
    return lines


def networks(found: dict[str, Any]) -> list[Line]:
    lines = compared(f"clean viewer beside {', '.join(found['links'])}", found["alone"], found["beside"])
    for index, name in enumerate(found["links"]):
        some = [run["others"][index] for run in found["beside"]]
        lines.append(Line(f"the one behind {name}", "", f"{number(of(some, 'fps_lowest'))} frames/s, latency "
                          f"{number(of(some, 'latency'), 0)} / {number(of(some, 'latency_p95'), 0)} ms, "
                          f"{number(of(some, 'mbit'), 2)} Mbit/s", ""))
    return lines


def classroom(found: dict[str, Any]) -> list[Line]:
    lines = []
    for carried in sorted({run["carried"] for run in found["runs"]}):
        runs = [run for run in found["runs"] if run["carried"] == carried]
        title = f"{runs[0]['viewers']} viewers behind {carried} Mbit/s"
        ratio = min(run["rate_least"] / run["rate_most"] if run["rate_most"] else 0 for run in runs)
        lowest, used = min(run["fps_lowest"] for run in runs), of(runs, "used")
        lines += [
            Line(f"{title}: the least rate, to the highest", "≥ 0.6",
                 f"{ratio:.2f} ({number(of(runs, 'rate_least'), 2)} and {number(of(runs, 'rate_most'), 2)} Mbit/s)",
                 tables.yes(ratio >= 0.6)),
            Line(f"{title}: slowest viewer, frames a second", "≥ 20", f"{lowest:.1f}", tables.yes(lowest >= 20)),
            Line(f"{title}: used, Mbit/s of frames", f"≥ {0.7 * carried:g}", number(used),
                 tables.yes(used >= 0.7 * carried)),
        ]
    return lines


def overload(found: dict[str, Any]) -> list[Line]:
    runs = found["runs"]
    title = f"{runs[0]['all']['viewers'] + runs[0]['after']['viewers']} viewers at once"
    everybody, after = [run["all"] for run in runs], [run["after"] for run in runs]
    lowest, back = min(run["fps_lowest"] for run in everybody), min(run["fps_lowest"] for run in after)
    lost = max(run["lost"] / max(1, run["viewers"] * run["fps_median"] * run["seconds"]) for run in everybody)
    sheds = sorted({shed for run in runs for shed in run["sheds"]})
    return [
        Line(f"{title}: slowest viewer, frames a second", "≥ 5", f"{lowest:.1f} (each {number(of(everybody, 'mbit'))} "
             f"Mbit/s, latency {number(of(everybody, 'latency'))} / {number(of(everybody, 'latency_p95'))} ms)",
             tables.yes(lowest >= 5)),
        Line(f"{title}: frames lost", "< 5 %", f"{lost:.2%}", tables.yes(lost < 0.05)),
        Line(f"{title}: what the host sheds", "", ", ".join(sheds) or "nothing", ""),
        Line(f"{title}: one that comes then", "a picture, or why not", "; ".join(run["newcomer"] for run in runs),
             tables.yes(all(run["newcomer"] != "nothing" for run in runs))),
        Line(f"{title}: {after[0]['viewers']} of them, 10 s after the others have left", f"≥ {LEAST_RATE} frames/s",
             f"{back:.1f}, each {number(of(after, 'mbit'))} Mbit/s", tables.yes(back >= LEAST_RATE)),
    ]


ROWS = {"viewers": viewers, "memory": memory, "joins": joins, "misbehaving": misbehaving, "networks": networks,
        "class": classroom, "overload": overload}


def all_lines(found: dict[str, Any]) -> list[Line]:
    return [line for name, lines in ROWS.items() if name in found for line in lines(found[name])]


def show(found: dict[str, Any]) -> None:
    lines = all_lines(found)
    print(tables.text([[line.what, line.aim, line.figure, line.reached] for line in lines],
                      tables.AIM_HEAD))
    judged = [line for line in lines if line.reached in (YES, NO, UNKNOWN)]
    print(f"\n{sum(line.reached == YES for line in judged)} of {len(judged)} aims are reached; "
          f"{sum(line.reached == UNKNOWN for line in judged)} could not be measured.")
    if "misbehaving" in found:
        print("\nWhat became of those who misbehaved:")
        for place, peers in enumerate(found["misbehaving"]["peers"], 1):
            for peer in peers:
                print(f"  run {place}, {peer['kinds']}: {words_of(peer)}")
