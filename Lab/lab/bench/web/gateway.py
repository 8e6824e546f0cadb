"""The row gateway: two browsers that watch by Janus in a network of its own, which is killed and started again."""

import argparse
import contextlib
import pathlib
import subprocess
import time
from collections.abc import Callable, Iterator
from typing import Any

from lab.bench.web.page import Page
from lab.bench.web.place import CODE, Place
from lab.common.browsers import Browser, Chromium
from lab.common.namespaces import entering
from lab.common.numbers import number
from lab.common.paths import ROOT
from lab.common.processes import end
from lab.common.programs import Event, Program
from lab.common.tables import judged
from lab.common.trouble import Trouble
from lab.network.links import VIEWER

Figures = dict[str, Any]
PORT = 8989
# Seconds: until Janus listens; until a page that was let in shows a picture, or one whose gateway was lost shows one again,
# for which it waits up to 4 s by itself.
START, MOST_JOINING, MOST_RETURN = 20, 3, 15
PICTURES = "document.getElementById('video').getVideoPlaybackQuality().totalVideoFrames"


class Janus:
    """`Scripts/janus` in the network of the browsers, by TLS with a certificate of its own."""

    def __init__(self, place: Place, folder: pathlib.Path) -> None:
        self.place, self.folder = place, folder
        self.words = ["--web-gateway", f"wss://{VIEWER}:{PORT}", "--web-gateway-token-file", folder / "token",
                      "--web-gateway-certificate", folder / "certificate.pem"]
        self.process: Any = None

    def __enter__(self) -> "Janus":
        self.start()
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
                raise Trouble("Janus doesn't start. Scripts/setup --test installs it.")
            time.sleep(0.05)

    def kill(self) -> None:
        """As a crash ends it."""
        subprocess.run(["kill", "-KILL", (self.folder / "pid").read_text().strip()], check=True)
        self.process.wait()


def gateway(options: argparse.Namespace) -> Figures:
    with (Place() as place, Janus(place, place.directory / "janus") as janus,
          place.sharing(*place.pattern(options.content, 30, 720), *janus.words, rows=720) as host):
        wait_for(host, is_ready)
        with browser(place, options) as first, browser(place, options) as second:
            found: Figures = {"refused": refuses(first)}
            found["first"] = joined(first)
            before = pictures(first)
            # In the midst of the stream: the first one misses nothing of it.
            found["second"] = joined(second)
            time.sleep(1)
            found["fps"] = (pictures(first) - before) / (found["second"] + 1)
            wait_for(host, lambda one: one.get("viewers") == 2)
            count = len(host.named("gateway"))
            janus.kill()
            for page in (first, second):
                page.browser.wait("document.body.dataset.state === 'lost'")
            janus.start()
            begin = time.monotonic()
            wait_for(host, is_ready, count)
            found["host_back"] = time.monotonic() - begin
            for page in (first, second):
                playing(page)
            found["back"] = time.monotonic() - begin
        return found


@contextlib.contextmanager
def browser(place: Place, options: argparse.Namespace) -> Iterator[Page]:
    with place.browser(Chromium, options.window) as one:
        page = Page(one, "http")
        page.open()
        yield page


def refuses(page: Page) -> bool:
    """A wrong code opens nothing, and the page says so."""
    wrong = "111111"
    assert wrong != CODE
    type_code(page.browser, wrong)
    page.browser.wait("document.getElementById('problem').textContent !== ''")
    page.browser.evaluate("document.getElementById('code').value = ''")
    return page.browser.evaluate("document.body.dataset.state") == "code"


def type_code(one: Browser, code: str) -> None:
    assert isinstance(one, Chromium)
    one.type(code)


def joined(page: Page) -> float:
    """Seconds from the code until the picture is there."""
    type_code(page.browser, CODE)
    begin = time.monotonic()
    playing(page)
    return time.monotonic() - begin


def playing(page: Page) -> None:
    page.browser.wait(f"document.body.dataset.state === 'playing' && {PICTURES} > 0")


def pictures(page: Page) -> int:
    return int(page.browser.evaluate(PICTURES))


def wait_for(host: Program, is_it: Callable[[Event], bool], after: int = 0) -> None:
    """Until the host has told that of its gateway, after so many other events of it."""
    limit = time.monotonic() + 60
    while not any(is_it(one) for one in host.named("gateway")[after:]):
        if time.monotonic() > limit:
            raise Trouble(f"The host told of its gateway: {host.named('gateway')[after:]}. {host.last_words()}")
        time.sleep(0.02)


def is_ready(event: Event) -> bool:
    return event["state"] == "ready"


def lines(row: Figures) -> list[list[str]]:
    slowest = max(row["first"], row["second"])
    return [
        judged("By a gateway in a network of its own: the code to the picture, first; second browser", f"{MOST_JOINING} s",
               f"{number(row['first'], 2)}; {number(row['second'], 2)} s", slowest <= MOST_JOINING),
        judged("  the first one's pictures a second while the second one comes", "27", number(row["fps"]), row["fps"] >= 27),
        judged("  a wrong code", "refused", "refused" if row["refused"] else "let in", row["refused"]),
        judged("  killed and started again: both browsers watch again after", f"{MOST_RETURN} s", f"{number(row['back'])} s",
               row["back"] <= MOST_RETURN),
        ["    the host has its mountpoint there again after", "", f"{number(row['host_back'])} s", ""]]
