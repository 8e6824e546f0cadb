"""Commands that run again in namespaces of their own, which keep what is measured apart from everything else."""

import os
import pathlib
import shutil
import signal
import subprocess
import sys

from lab.common.trouble import Trouble, say

# Whether the network is the command's own: `own` or `shared`.
NETWORK = "BEAMROOM_LAB_NETWORK"


def session_environment() -> dict[str, str]:
    """An environment without the person's session, so that no window opens on a real screen."""
    private = ("DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "XDG_SESSION_TYPE", "DBUS_SESSION_BUS_ADDRESS")
    return {name: value for name, value in os.environ.items() if name not in private}


def _isolated(command: list[str]) -> list[str] | None:
    """The command in new network, mount and process namespaces, which end with it. None if they aren't allowed."""
    words = ["unshare", "--net", "--pid", "--fork", "--kill-child", "--mount-proc"]
    if os.geteuid() != 0:
        words += ["--user", "--map-root-user"]
    if subprocess.run([*words, "true"], capture_output=True).returncode != 0:
        return None
    return [*words, *command]


def run_inside(module: str, arguments: list[str], environment: dict[str, str] | None = None, may_share: bool = False) -> int:
    """Runs `python3 -m MODULE ARGUMENT…` in namespaces of its own, to its end: its status. `environment` is what it gets
    beside the session's. `may_share`: it runs all the same where there can't be any.
    """
    command = [sys.executable, "-B", "-m", module, *arguments]
    own = _isolated(command)
    if not own and not may_share:
        raise Trouble("This machine doesn't allow new namespaces, which keep what is measured apart from everything else."
                      " Run it as root.")
    if not own:
        say("No network of its own on this machine: everything goes over its loopback.")
    # If this process is killed, the child is killed too. In its own session, so that it gets Ctrl-C once.
    process = subprocess.Popen(
        ["setpriv", "--pdeathsig", "KILL", "--", *(own or command)], start_new_session=True,
        env={**session_environment(), **(environment or {}), NETWORK: "own" if own else "shared"})
    asked = []

    def end(*_: object) -> None:
        # The first signal lets it clean up, the second kills it. unshare blocks signals: its child gets it.
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


def has_own_network() -> bool:
    return os.environ.get(NETWORK) == "own"


def start_loopback() -> None:
    if subprocess.run(["ip", "link", "set", "lo", "up"]).returncode != 0:
        raise Trouble("The loopback of a network of its own can't be used.")


def hide_displays() -> None:
    """Gives the namespaces a directory of their own for X sockets."""
    sockets = "/tmp/.X11-unix"
    os.makedirs(sockets, exist_ok=True)
    command = ["mount", "-t", "tmpfs", "-o", "mode=1777", "beamroom-bench", sockets]
    if subprocess.run(command).returncode != 0:
        raise Trouble(f"“{' '.join(command)}” failed: the screens to be measured can't be kept apart.")


def enter() -> None:
    """Prepares the namespaces for screens: a loopback, and a private directory for X sockets."""
    start_loopback()
    hide_displays()
    if not shutil.which("Xvfb"):
        raise Trouble("There is no Xvfb here. Scripts/setup --bench installs it.")
