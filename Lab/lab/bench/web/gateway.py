"""The row gateway: two browsers that watch by Janus in a network of its own, which is killed and started again."""

import argparse
import contextlib
import time
from collections.abc import Iterator
from typing import Any

from lab.bench.web import janus
from lab.bench.web.page import Page
from lab.bench.web.place import CODE, Place
from lab.common.browsers import Browser, Chromium
from lab.common.numbers import number
from lab.common.tables import judged

Figures = dict[str, Any]
# Seconds: until a page that was let in shows a picture, or one whose gateway was lost shows one again, for which it waits
# up to 4 s by itself.
MOST_JOINING, MOST_RETURN = 3, 15
PICTURES = "document.getElementById('video').getVideoPlaybackQuality().totalVideoFrames"


def gateway(options: argparse.Namespace) -> Figures:
    with Place() as place, janus.sharing(place, *place.pattern(options.content, 30, 720), rows=720) as (host, carrier):
        with browser(place, options) as first, browser(place, options) as second:
            found: Figures = {"refused": refuses(first)}
            found["first"] = joined(first)
            before = pictures(first)
            # In the midst of the stream: the first one misses nothing of it.
            found["second"] = joined(second)
            time.sleep(1)
            found["fps"] = (pictures(first) - before) / (found["second"] + 1)
            janus.wait_for_viewers(host, 2)
            count = len(host.named("gateway"))
            carrier.kill()
            for page in (first, second):
                page.browser.wait("document.body.dataset.state === 'lost'")
            carrier.start()
            begin = time.monotonic()
            janus.wait_for(host, janus.is_ready, count)
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
