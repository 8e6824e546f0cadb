"""Real browsers without a window: Chromium, driven by DevTools over a pipe, and Firefox, driven by Marionette."""

import contextlib
import itertools
import json
import os
import pathlib
import select
import shutil
import signal
import socket
import subprocess
import time
from typing import IO, Any, Self

from lab.common import processes
from lab.common.namespaces import entering, socket_in
from lab.common.trouble import Trouble

# In seconds.
LONGEST_ANSWER, LONGEST_START = 90, 60
NUMBERS = itertools.count(1)


class Browser:
    """A browser with one page, in the network namespace of a process. Used by one thread."""

    title = program = ""

    def __init__(self, directory: pathlib.Path, log: IO[str], end: int, size: tuple[int, int] = (1280, 800),
                 sound: dict[str, str] | None = None) -> None:
        """`directory`: where it gets a folder for its profile. `end`: the process. `size`: of the page. `sound`: by which
        variables of the environment it finds the sound server to play into; without them it may play nothing.
        """
        if not shutil.which(self.program):
            raise Trouble(f"There is no {self.program} here. Scripts/setup --bench installs it.")
        self.folder, self.log, self.network, self.size = directory / f"browser-{next(NUMBERS)}", log, end, size
        self.folder.mkdir(mode=0o700)
        self.sound = sound
        self.received = b""
        self.last_id = 0
        self.process = self._start()
        try:
            self._attach()
        except BaseException:
            self.end()
            raise

    def _start(self) -> subprocess.Popen:
        raise NotImplementedError

    def _attach(self) -> None:
        """Waits until it takes commands."""
        raise NotImplementedError

    def navigate(self, address: str) -> None:
        raise NotImplementedError

    def evaluate(self, expression: str) -> Any:
        """The value of an expression of JavaScript; a promise's when it is there."""
        raise NotImplementedError

    def _popen(self, *words: str) -> subprocess.Popen:
        environment = {name: value for name, value in os.environ.items() if name not in ("DISPLAY", "WAYLAND_DISPLAY")}
        return subprocess.Popen([*entering(self.network), *words], stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log,
                                env={**environment, **(self.sound or {}), "HOME": str(self.folder), "LANGUAGE": "en"},
                                start_new_session=True)

    def wait(self, expression: str, seconds: float = 30) -> None:
        """Waits until the expression is true. While a page is loaded it may fail."""
        def is_so() -> bool:
            with contextlib.suppress(Trouble):
                return self.evaluate(f"!!({expression})") is True
            return False

        if not processes.first_true(is_so, seconds):
            shown = self.evaluate("document.body.dataset.state + ': ' + document.body.innerText.slice(0, 200)")
            raise Trouble(f"{self.title}: after {seconds:g} s it isn't so: {expression}. The page shows “{shown}”.")

    # --- Its processes

    def pids(self) -> list[int]:
        """Of all its processes: those of its session."""
        found = []
        for folder in pathlib.Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if int((folder / "stat").read_text().rsplit(")", 1)[1].split()[3]) == self.process.pid:
                    found.append(int(folder.name))
        return found

    def stop(self) -> None:
        """Stops all of them, as when a laptop sleeps."""
        self._signal(signal.SIGSTOP)

    def wake(self) -> None:
        self._signal(signal.SIGCONT)

    def _signal(self, number: int) -> None:
        for pid in self.pids():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    def end(self) -> None:
        processes.end(self.process)
        for pid in self.pids():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()


class Chromium(Browser):
    """It reads commands from descriptor 3 and writes answers to descriptor 4, in JSON, each ended by a zero byte."""

    title, program = "Chromium", "chromium"

    def _start(self) -> subprocess.Popen:
        self.session: str | None = None
        pipes = [str(self.folder / name) for name in ("commands", "answers")]
        for pipe in pipes:
            os.mkfifo(pipe, 0o600)
        width, height = self.size
        process = self._popen(
            # Another shell may not know descriptors by these numbers.
            "bash", "-c", 'exec "${@:3}" 3<"$1" 4>"$2"', "chromium", *pipes, "chromium", "--headless=new", "--no-sandbox",
            "--no-first-run", "--disable-gpu", *([] if self.sound else ["--mute-audio"]),
            f"--user-data-dir={self.folder / 'profile'}",
            "--remote-debugging-pipe", "--ignore-certificate-errors", "--lang=en", "--accept-lang=en",
            f"--window-size={width},{height}", "about:blank")
        # Each waits until the other end is open.
        self.commands, self.answers = (os.open(pipe, flags) for pipe, flags in zip(pipes, (os.O_WRONLY, os.O_RDONLY)))
        return process

    def _attach(self) -> None:
        def page() -> str | None:
            targets = self.send("Target.getTargets")["targetInfos"]
            return next((target["targetId"] for target in targets if target["type"] == "page"), None)

        found = processes.first_true(page, LONGEST_START)
        if not found:
            raise Trouble("Chromium has no page.")
        self.session = self.send("Target.attachToTarget", targetId=found, flatten=True)["sessionId"]
        width, height = self.size
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def navigate(self, address: str) -> None:
        self.send("Page.navigate", url=address)

    def evaluate(self, expression: str) -> Any:
        answer = self.send("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            raise Trouble(f"{expression}: {answer['exceptionDetails'].get('exception', {}).get('description')}")
        return answer["result"].get("value")

    def type(self, text: str) -> None:
        """Types as a person does, and presses Enter."""
        self.send("Input.insertText", text=text)
        for kind, more in (("keyDown", {"text": "\r"}), ("keyUp", {})):
            self.send("Input.dispatchKeyEvent", type=kind, key="Enter", windowsVirtualKeyCode=13, **more)

    def click(self, id_: str) -> None:
        """Clicks an element in its middle."""
        x, y = self.evaluate(f"(box => [box.x + box.width / 2, box.y + box.height / 2])"
                             f"(document.getElementById('{id_}').getBoundingClientRect())")
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Sends a command; its result."""
        self.last_id += 1
        command = {"id": self.last_id, "method": method, "params": parameters}
        if self.session:
            command["sessionId"] = self.session
        os.write(self.commands, json.dumps(command).encode() + b"\0")
        while True:
            # Events are among them.
            message = json.loads(self._next())
            if message.get("id") == self.last_id:
                if "error" in message:
                    raise Trouble(f"{method}: {message['error'].get('message')}")
                return message["result"]

    def _next(self) -> bytes:
        while b"\0" not in self.received:
            if not select.select([self.answers], [], [], LONGEST_ANSWER)[0]:
                raise Trouble("Chromium doesn't answer.")
            part = os.read(self.answers, 1 << 20)
            if not part:
                raise Trouble("Chromium has ended.")
            self.received += part
        message, self.received = self.received.split(b"\0", 1)
        return message

    def end(self) -> None:
        super().end()
        for descriptor in (self.commands, self.answers):
            with contextlib.suppress(OSError):
                os.close(descriptor)


class Firefox(Browser):
    """Messages by TCP on its namespace's loopback: LENGTH:JSON."""

    title, program = "Firefox", "firefox-esr"
    PREFERENCES = {
        "browser.aboutwelcome.enabled": False, "termsofuse.bypassNotification": True, "media.autoplay.default": 0,
        "datareporting.policy.dataSubmissionEnabled": False,
        # Otherwise its clock has steps of 1 ms.
        "privacy.reduceTimerPrecision": False}

    def _start(self) -> subprocess.Popen:
        self.connection: socket.socket | None = None
        self.port = 2828 + next(NUMBERS)
        preferences = {**self.PREFERENCES, "marionette.port": self.port}
        (self.folder / "user.js").write_text("".join(
            f"user_pref({json.dumps(name)}, {json.dumps(value)});\n" for name, value in preferences.items()))
        width, height = map(str, self.size)
        return self._popen("firefox-esr", "--headless", "--no-remote", "--marionette", "--profile", str(self.folder),
                           "--width", width, "--height", height, "about:blank")

    def _attach(self) -> None:
        limit = time.monotonic() + LONGEST_START
        while self.connection is None:
            made = socket_in(self.network, socket.SOCK_STREAM)
            try:
                made.connect(("127.0.0.1", self.port))
                self.connection = made
            except OSError as error:
                made.close()
                if time.monotonic() > limit or self.process.poll() is not None:
                    raise Trouble("Firefox takes no commands.") from error
                time.sleep(0.1)
        self.connection.settimeout(LONGEST_ANSWER)
        self._next()
        self.send("WebDriver:NewSession", acceptInsecureCerts=True)

    def navigate(self, address: str) -> None:
        self.send("WebDriver:Navigate", url=address)

    def evaluate(self, expression: str) -> Any:
        script = ("const done = arguments[arguments.length - 1];"
                  f" Promise.resolve({expression}).then(done, error => done({{ thrown: String(error) }}));")
        value = self.send("WebDriver:ExecuteAsyncScript", script=script, args=[], scriptTimeout=30000)["value"]
        if isinstance(value, dict) and "thrown" in value:
            raise Trouble(f"{expression}: {value['thrown']}")
        return value

    def send(self, name: str, **parameters: Any) -> dict[str, Any]:
        self.last_id += 1
        body = json.dumps([0, self.last_id, name, parameters]).encode()
        self.connection.sendall(f"{len(body)}:".encode() + body)
        while True:
            message = json.loads(self._next())
            if isinstance(message, list) and message[1] == self.last_id:
                if message[2]:
                    raise Trouble(f"{name}: {message[2].get('message')}")
                return message[3] or {}

    def _next(self) -> bytes:
        while True:
            length, colon, rest = self.received.partition(b":")
            if colon and len(rest) >= int(length):
                message, self.received = rest[:int(length)], rest[int(length):]
                return message
            try:
                part = self.connection.recv(1 << 20)
            except TimeoutError as error:
                raise Trouble("Firefox doesn't answer.") from error
            if not part:
                raise Trouble("Firefox has ended.")
            self.received += part

    def end(self) -> None:
        if self.connection:
            self.connection.close()
        super().end()
