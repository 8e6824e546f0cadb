"""Janus as the gateway of a host, in the network of the browsers, which watch by it."""

import contextlib
import pathlib
import subprocess
import time
from collections.abc import Callable, Iterator
from typing import Any

from lab.bench.web.place import Place
from lab.common.namespaces import entering
from lab.common.paths import ROOT
from lab.common.processes import end
from lab.common.programs import Event, Program
from lab.common.trouble import Trouble
from lab.network.links import VIEWER

PORT = 8989
# Seconds: until Janus listens; until a host has told something of its gateway.
START, MOST_TELLING = 20, 60


class Janus:
    """`Scripts/janus` in the network of the browsers, by TLS with a certificate of its own."""

    def __init__(self, place: Place, folder: pathlib.Path) -> None:
        self.place, self.folder = place, folder
        self.words = ["--web-gateway", f"wss://{VIEWER}:{PORT}", "--web-gateway-token-file", folder / "token",
                      "--web-gateway-certificate", folder / "certificate.pem"]
        self.process: Any = None

    def __enter__(self) -> "Janus":
        try:
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        if self.process:
            end(self.process)

    def start(self) -> None:
        at = entering(self.place.viewer_end)
        self.process = subprocess.Popen(
            [*at, ROOT / "Scripts" / "janus", "--no-install", "--self-signed", "--address", VIEWER, "--port", str(PORT),
             "--folder", self.folder], stdout=self.place.log, stderr=self.place.log, start_new_session=True)
        limit = time.monotonic() + START
        while subprocess.run([*at, "bash", "-c", f"exec 3<>/dev/tcp/{VIEWER}/{PORT}"], capture_output=True).returncode:
            if self.process.poll() is not None or time.monotonic() > limit:
                raise Trouble("Janus doesn't start. Scripts/setup --bench installs it.")
            time.sleep(0.05)

    def kill(self) -> None:
        """As a crash ends it."""
        subprocess.run(["kill", "-KILL", (self.folder / "pid").read_text().strip()], check=True)
        self.process.wait()


@contextlib.contextmanager
def sharing(place: Place, *more: object, rows: int = 1080) -> Iterator[tuple[Program, Janus]]:
    """A host as of `Place.sharing`, when browsers can watch by its gateway; and the gateway."""
    with (Janus(place, place.directory / "janus") as janus,
          place.sharing(*more, *janus.words, rows=rows) as host):
        wait_for(host, is_ready)
        yield host, janus


def wait_for(host: Program, is_it: Callable[[Event], bool], after: int = 0) -> None:
    """Until the host has told that of its gateway, after so many other events of it."""
    limit = time.monotonic() + MOST_TELLING
    while not any(is_it(one) for one in host.named("gateway")[after:]):
        if time.monotonic() > limit:
            raise Trouble(f"The host told of its gateway: {host.named('gateway')[after:]}. {host.last_words()}")
        time.sleep(0.02)


def wait_for_viewers(host: Program, count: int) -> None:
    """Until the gateway has told its host that so many watch there."""
    wait_for(host, lambda one: one.get("viewers") == count)


def is_ready(event: Event) -> bool:
    return event["state"] == "ready"
