"""Scripts/attack: runs attacks against a new host and viewer, and prints the result of each."""

import argparse
import dataclasses
import importlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[3]
PAGE = ROOT / "Sources/beamroom/beamroom.docc/Attacks.md"
BEGIN = "<!-- results: written by Scripts/attack --page -->"
END = "<!-- end of results -->"
MODULES = ("undisturbed", "pairing", "words", "values", "places", "floods", "memory", "lies", "members", "equals", "equalswords")
# IPv6 addresses of attackers, of two prefixes, on the private network's loopback.
ADDRESSES = ["fd77:1::1/64", *(f"fd77:2::{number:x}/64" for number in range(1, 65)), "fd77:3::1/64"]


def all_attacks():
    found = []
    for module in MODULES:
        found += importlib.import_module(f"lab.attack.{module}").ATTACKS
    return found


def parse(arguments):
    parser = argparse.ArgumentParser(prog="Scripts/attack")
    parser.add_argument("--only", nargs="+", metavar="NAME", default=[], help="only these; all if none is given")
    parser.add_argument("--list", action="store_true", help="say what there is, and play nothing")
    parser.add_argument("--program", metavar="PATH", help="the beamroom to attack")
    parser.add_argument("--json", metavar="FILE", help="write the rows there, too")
    parser.add_argument("--page", metavar="FILE", help="write the table of such a file into the page Attacks")
    parser.add_argument("--short", action="store_true", help="what fits into a test: about 2 minutes")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


# --- The private network ---------------------------------------------------------------------------------------------


def isolated(command):
    """The command in new network, mount and process namespaces, which end with it. None if they aren't allowed."""
    words = ["unshare", "--net", "--pid", "--fork", "--kill-child", "--mount-proc"]
    if os.geteuid() != 0:
        words += ["--user", "--map-root-user"]
    if subprocess.run([*words, "true"], capture_output=True).returncode != 0:
        return None
    return [*words, *command]


def go_inside(arguments, module="lab.attack"):
    """Runs everything in a private network if possible, so that no datagram leaves it."""
    command = [sys.executable, "-B", "-m", module, "--inside", *arguments]
    own = isolated(command)
    environment = dict(os.environ, BEAMROOM_ATTACK_NETWORK="own" if own else "shared")
    if not own:
        print("No network of its own on this machine: everything goes over its loopback.", file=sys.stderr)
    # If this process is killed, the child is killed too.
    process = subprocess.Popen(["setpriv", "--pdeathsig", "KILL", "--", *(own or command)], env=environment,
                               start_new_session=True)

    asked = []

    def end(*_):
        # The first signal lets the attacks clean up, the second kills them. unshare blocks signals: its child gets it.
        if asked:
            process.kill()
        elif own:
            for child in pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split():
                os.kill(int(child), signal.SIGINT)
        else:
            process.send_signal(signal.SIGINT)
        asked.append(True)

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, end)
    return process.wait()


def prepare_network():
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    for address in ADDRESSES:
        subprocess.run(["ip", "-6", "address", "add", address, "dev", "lo", "nodad"], capture_output=True)


# --- Output ----------------------------------------------------------------------------------------------------------


def number(value, digits=0, unit=""):
    return "–" if value is None else f"{value:.{digits}f}{unit}"


def cells(row):
    frames = "–" if row["mean"] is None else f"{row['lowest']:.0f} / {row['mean']:.1f}"
    ratio = "–" if row["ratio"] is None else f"{100 * row['ratio']:.0f} %"
    memory = f"{number(row['host_megabytes'])} / {number(row['viewer_megabytes'])}"
    return [row["name"], row["came"], frames, ratio, number(row["latency"]), memory]


HEADS = ("attack", "came of it", "fps low / mean", "of calm", "p95 ms", "MB host / viewer")
WIDTHS = (24, 10, 14, 7, 6, 16)


def line(values):
    return "  ".join(f"{value:<{width}}" for value, width in zip(values, WIDTHS)).rstrip()


def print_row(row):
    print(line(cells(row)))
    print(f"    {row['tried']}")
    if row["words"]:
        print(f"    → {row['words']}")
    sys.stdout.flush()


def page_text(results):
    rows = [["attack", "what is tried", *HEADS[1:], "what was seen"]]
    rows.append(["---"] * len(rows[0]))
    for row in results["rows"]:
        name, *rest = cells(row)
        rows.append([name, row["tried"], *rest, row["words"] or " "])
    table = "\n".join("| " + " | ".join(value.replace("|", "\\|") for value in row) + " |" for row in rows)
    machine = results["machine"]
    return (f"{table}\n\n`Scripts/attack` on {machine['cores']} cores, {machine['system']}, commit {machine['commit']},"
            f" {machine['date']}. Frames a second: the lowest second and the mean, and the mean as a share of the first"
            " row's; latency: the worst second's 95th percentile from capture to picture; memory: each process's peak.")


def write_page(path):
    with open(path) as file:
        results = json.load(file)
    page = PAGE.read_text()
    before, rest = page.split(BEGIN)
    _, after = rest.split(END)
    PAGE.write_text(f"{before}{BEGIN}\n{page_text(results)}\n{END}{after}")
    return 0


def machine():
    system = os.uname()
    commit = subprocess.run(["git", "-C", str(ROOT), "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True)
    date = subprocess.run(["date", "-u", "+%Y-%m-%d"], capture_output=True, text=True)
    return {"cores": os.cpu_count(), "system": f"{system.sysname} {system.release}",
            "commit": commit.stdout.strip() or "unknown", "date": date.stdout.strip()}


# --- Running ---------------------------------------------------------------------------------------------------------


def choose(options):
    attacks = all_attacks()
    names = [attack.name for attack in attacks]
    for name in options.only:
        if name not in names:
            sys.exit(f"There is no attack {name}. There are: {', '.join(names)}.")
    if options.only:
        return [attack for attack in attacks if attack.name in options.only or attack.name == "undisturbed"]
    return [attack for attack in attacks if attack.short or not options.short]


def play_all(options):
    from lab.attack import laboratory

    if os.environ.get("BEAMROOM_ATTACK_NETWORK") == "own":
        prepare_network()
    rows = []
    print(line(HEADS))
    with tempfile.TemporaryDirectory(prefix="beamroom-attack-") as directory:
        os.chmod(directory, 0o700)
        lab = laboratory.Laboratory(options.program, directory, options.short)
        for attack in choose(options):
            row = laboratory.play(attack, lab)
            if attack.name == "undisturbed":
                lab.undisturbed = row
            rows.append(dataclasses.asdict(row) | {"is_well": row.is_well})
            print_row(rows[-1])
            if options.json:
                pathlib.Path(options.json).write_text(json.dumps({"machine": machine(), "rows": rows}, indent=1) + "\n")
    bad = [row["name"] for row in rows if not row["is_well"]]
    print(f"{len(rows)} rows; " + (f"not as aimed: {', '.join(bad)}" if bad else "all as aimed"))
    return 1 if bad else 0


def run(arguments):
    options = parse(arguments)
    if options.page:
        return write_page(options.page)
    if options.list:
        for attack in all_attacks():
            print(f"{attack.name:<26}{attack.title()}")
        return 0
    if not options.program:
        sys.exit("--program PATH is wanted")
    choose(options)
    return play_all(options) if options.inside else go_inside(arguments)


if __name__ == "__main__":
    try:
        sys.exit(run(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
