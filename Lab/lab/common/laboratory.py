"""Screens and processes for a measurement, which end with it."""

import contextlib
import dataclasses
import json
import os
import pathlib
import shlex
import shutil
import signal
import subprocess
import tempfile
import time


class Trouble(Exception):
    """An error that a person can fix. Printed without a trace."""

    is_for_people = True


@dataclasses.dataclass
class Screens:
    """Two X displays of one size, and how they are shared."""

    width: int
    height: int
    rate: int
    bit_rate: int  # in kbit/s
    host: str = ""
    viewer: str = ""
    pids: tuple = ()
    # The addresses of both ends.
    host_address: str = "127.0.0.1"
    viewer_address: str = "127.0.0.1"


SIZES = {720: (1280, 720, 5_000), 1080: (1920, 1080, 10_000), 2160: (3840, 2160, 20_000)}


class Laboratory:
    """Two virtual screens in a private network, which carries only the measured traffic."""

    def __init__(self, probe, size, rate):
        width, height, bit_rate = SIZES[size]
        self.probe = probe
        self.screens = Screens(width, height, rate, bit_rate)
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="beamroom-bench-"))
        self.port = 5600
        self.display = 200
        self.log = open(self.directory / "log", "a+")
        self.stack = contextlib.ExitStack()

    def __enter__(self):
        self.stack.callback(shutil.rmtree, self.directory, ignore_errors=True)
        try:
            (host, host_pid), (viewer, viewer_pid) = self._new_screen(), self._new_screen()
            self.screens.host, self.screens.viewer = host, viewer
            self.screens.pids = (host_pid, viewer_pid)
        except BaseException:
            self.stack.close()
            raise
        return self

    def __exit__(self, *_):
        self.stack.close()

    def _new_screen(self):
        read, write = os.pipe()
        size = f"{self.screens.width}x{self.screens.height}x24"
        command = ["Xvfb", f":{self._free_display()}", "-displayfd", str(write), "-screen", "0", size,
                   "-nolisten", "tcp", "-noreset", "-ac", "-s", "0", "+extension", "GLX"]
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log,
                                   pass_fds=[write], start_new_session=True)
        self.stack.callback(end, process)
        os.close(write)
        with os.fdopen(read) as pipe:
            display = pipe.readline().strip()
        if not display:
            raise Trouble(f"No virtual screen came up:\n{self.last_words()}")
        return f":{display}", process.pid

    def _free_display(self):
        """A display number without a lock. Xvfb can't see processes outside, and would take their locks for stale."""
        self.display += 1
        while os.path.exists(f"/tmp/.X{self.display}-lock"):
            self.display += 1
        return self.display

    def last_words(self):
        self.log.flush()
        return "\n".join((self.directory / "log").read_text(errors="replace").splitlines()[-8:])

    def next_port(self):
        # The ports of the run before may still be in use.
        self.port += 4
        return self.port

    @contextlib.contextmanager
    def running(self, command, name):
        print(f"# {name}: {command}", file=self.log, flush=True)
        process = subprocess.Popen(["sh", "-c", command], stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log,
                                   start_new_session=True)
        try:
            yield process
        finally:
            end(process)

    def wait_for(self, what, condition, seconds=20):
        limit = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > limit:
                raise Trouble(f"Waited {seconds} s in vain for {what}. Last words:\n{self.last_words()}")
            time.sleep(0.05)

    def _probe_command(self, content, seconds, *options):
        screens = self.screens
        command = [self.probe, "--host", screens.host, "--viewer", screens.viewer, "--content", content,
                   # Slightly off the capture rate, so that the phases drift.
                   "--rate", str(screens.rate * 60.1 / 60), "--seconds", str(seconds), *map(str, options)]
        if content != "video":
            command += ["--image", str(self.directory / f"{content}.ppm")]
        return command

    def painting(self, content, seconds):
        """Shows the content on the host's screen while something else is measured."""
        return self.running("exec " + shlex.join(self._probe_command(content, seconds)), "paint")

    def _probe(self, content, *options, seconds):
        run = subprocess.run(self._probe_command(content, seconds, *options), stdout=subprocess.PIPE, stderr=self.log,
                             text=True, timeout=seconds + 120)
        if run.returncode != 0:
            raise Trouble(f"The probe could not measure:\n{self.last_words()}")
        return json.loads(run.stdout)

    def measure(self, system, content, seconds, rest):
        """One run of a system: latency, frames, quality and resources. None if it ended by itself."""
        port = self.next_port()
        with self.running(system.share(self.screens, port), "share") as share:
            time.sleep(1)
            with self.running(system.watch(self.screens, port), "watch") as watch:
                time.sleep(1)
                options = ["--rest", rest, "--process", f"host:{share.pid}", "--process", f"viewer:{watch.pid}",
                           "--process", f"host-screen:{self.screens.pids[0]}",
                           "--process", f"viewer-screen:{self.screens.pids[1]}"]
                figures = self._probe(content, *options, seconds=seconds)
                if share.poll() is not None or watch.poll() is not None:
                    return None
        figures["stages"] = system.stages(self.directory)
        return figures

    def time_start(self, system):
        """Milliseconds from the viewer's start until its picture is right; None if it never was."""
        port = self.next_port()
        with self.running(system.share(self.screens, port), "share"):
            time.sleep(1.5)
            return self._probe("still", "--spawn", system.watch(self.screens, port), seconds=15)["start"]


def enter():
    """Prepares the namespaces for screens: a loopback, and a private directory for X sockets."""
    sockets = "/tmp/.X11-unix"
    os.makedirs(sockets, exist_ok=True)
    for command in (["ip", "link", "set", "lo", "up"],
                    ["mount", "-t", "tmpfs", "-o", "mode=1777", "beamroom-bench", sockets]):
        if subprocess.run(command).returncode != 0:
            raise Trouble(f"“{' '.join(command)}” failed: the screens to be measured can't be kept apart.")
    if not shutil.which("Xvfb"):
        raise Trouble("There is no Xvfb here. Scripts/setup --bench installs it.")


def end(process):
    """Ends a process and its session, with SIGKILL if SIGTERM isn't enough."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(3)
            return
    process.wait()
