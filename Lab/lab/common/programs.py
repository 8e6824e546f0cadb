"""The program under attack: host and viewers as processes, their output, their resources, and whether they run."""

import ctypes
import json
import os
import pathlib
import resource
import select
import signal
import socket
import subprocess
import threading
import time

LIBC = ctypes.CDLL(None)
TICKS = os.sysconf("SC_CLK_TCK")
# A process with more resident memory is killed, so that an attack doesn't exhaust the machine's memory.
MOST_MEGABYTES = 1200


def free_port():
    """A port that is free for both TCP and UDP."""
    while True:
        with socket.create_server(("127.0.0.1", 0)) as tcp, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
            port = tcp.getsockname()[1]
            try:
                udp.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue


class Program:
    """One process: started, read, watched, and ended by its own process ID."""

    def __init__(self, words, state, stderr=None, stdin=None, descriptors=None, environment=None, limits=None):
        """`environment`: more variables; those with the value None are left out. `limits`: soft and hard resource
        limits, by their numbers in `resource`."""
        more = environment or {}
        self.words, self.state = words, pathlib.Path(state)
        self.state.mkdir(parents=True, exist_ok=True)
        environment = {name: value for name, value in os.environ.items()
                       if name not in ("DISPLAY", "WAYLAND_DISPLAY", "DBUS_SESSION_BUS_ADDRESS")}
        environment.update(XDG_STATE_HOME=str(state), LC_ALL="C.UTF-8", TERM="dumb",
                           # Otherwise a crash takes seconds to be reported.
                           SWIFT_BACKTRACE="enable=no")
        environment.update(more)
        environment = {name: value for name, value in environment.items() if value is not None}

        def prepare():
            # PR_SET_PDEATHSIG: ends with this process.
            LIBC.prctl(1, signal.SIGKILL)
            if descriptors:
                resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors, descriptors))
            for number, most in (limits or {}).items():
                resource.setrlimit(number, (most, most))

        # `said`: the time and text of each line of `errors`.
        self.said = []
        self.events, self.errors, self.changed = [], [], threading.Condition()
        self.process = subprocess.Popen(words, env=environment, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE if stderr is None else stderr,
                                        stdin=subprocess.DEVNULL if stdin is None else stdin,
                                        preexec_fn=prepare, start_new_session=True)
        self.peak = 0
        self.was_ended = False
        self.threads = [threading.Thread(target=self._read_events, daemon=True),
                        threading.Thread(target=self._watch, daemon=True)]
        if stderr is None:
            self.threads.append(threading.Thread(target=self._read_errors, daemon=True))
        for thread in self.threads:
            thread.start()

    @property
    def pid(self):
        return self.process.pid

    @property
    def error_text(self):
        return "".join(self.errors)

    def _read_events(self):
        for line in self.process.stdout:
            try:
                event = json.loads(line)
            except ValueError:
                continue
            event["at"] = time.monotonic()
            with self.changed:
                self.events.append(event)
                self.changed.notify_all()

    def _read_errors(self):
        for line in self.process.stderr:
            with self.changed:
                self.errors.append(line.decode(errors="replace"))
                self.said.append((time.monotonic(), self.errors[-1].strip()))
                self.changed.notify_all()

    def _watch(self):
        """Records the peak resident memory in MB."""
        while self.process.poll() is None:
            try:
                status = pathlib.Path(f"/proc/{self.pid}/status").read_text()
            except OSError:
                break
            for line in status.splitlines():
                if line.startswith("VmHWM:"):
                    self.peak = max(self.peak, int(line.split()[1]) / 1024)
                if line.startswith("VmRSS:") and int(line.split()[1]) / 1024 > MOST_MEGABYTES:
                    self.process.kill()
            time.sleep(0.1)

    def processor(self):
        """Processor time so far, in seconds."""
        try:
            fields = pathlib.Path(f"/proc/{self.pid}/stat").read_text().rsplit(")", 1)[1].split()
        except OSError:
            return 0
        return (int(fields[11]) + int(fields[12])) / TICKS

    def named(self, name, since=0.0):
        with self.changed:
            return [event for event in self.events if event["event"] == name and event["at"] >= since]

    def wait(self, condition, timeout):
        """The first true result of `condition()`; None after the timeout."""
        deadline = time.monotonic() + timeout
        with self.changed:
            while True:
                found = condition()
                if found:
                    return found
                left = deadline - time.monotonic()
                if left <= 0:
                    return None
                self.changed.wait(min(left, 0.2))

    def wait_for(self, name, timeout=15, since=0.0):
        return self.wait(lambda: next((event for event in self.events
                                       if event["event"] == name and event["at"] >= since), None), timeout)

    def wait_for_words(self, words, timeout=10):
        return self.wait(lambda: words in self.error_text, timeout)

    @property
    def fate(self):
        """None while it runs or after we ended it; otherwise how it ended."""
        status = self.process.poll()
        if status is None or self.was_ended:
            return None
        return signal.Signals(-status).name if status < 0 else f"exit status {status}"

    def end(self):
        if self.fate is None and self.process.poll() is None:
            self.was_ended = True
            self.process.send_signal(signal.SIGINT)
            try:
                self.process.wait(4)
            except subprocess.TimeoutExpired:
                self.process.kill()
        self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()


class Terminal:
    """A terminal with a person, or one that nobody reads."""

    def __init__(self):
        self.master, self.slave = os.openpty()
        self.text = ""
        self.is_read = True
        self.is_over = False
        self.thread = threading.Thread(target=self._read, daemon=True)
        self.thread.start()

    def _read(self):
        while not self.is_over:
            if not self.is_read:
                time.sleep(0.05)
            elif select.select([self.master], [], [], 0.1)[0]:
                try:
                    self.text += os.read(self.master, 4096).decode(errors="replace")
                except OSError:
                    return

    def type(self, words):
        os.write(self.master, words.encode())

    def wait_for(self, words, timeout=10, after=0):
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline:
            if words in self.text[after:]:
                return True
            time.sleep(0.02)
        return False

    def close(self):
        self.is_over = True
        self.thread.join(2)
        os.close(self.master)
        os.close(self.slave)
