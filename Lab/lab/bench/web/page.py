"""The host's page in a browser, and what it draws: each picture of the test pattern says its number and its time."""

import binascii
import contextlib
import dataclasses
import time
from collections.abc import Iterator
from typing import Any

from lab.bench.web.place import CODE, WEB_PORT, Place
from lab.common.browsers import Browser, Chromium
from lab.common.numbers import percentile
from lab.network.links import HOST

# As the pattern draws it in pictures of 720 and of 1080 rows (BeamCapture's `PatternCode`): blocks of 16 pixels.
COLUMNS, ROWS, MARKER = 64, 2, "bea4"

# Reads each picture when it is drawn: by WebRTC in requestVideoFrameCallback, by WebCodecs after the page has
# drawn it. The time is taken first, so that reading isn't in it.
PROBE = """(() => {
  const probe = window.beamProbe = { drawn: [], last: null, entered: null, connection: null, units: 0, keys: 0 };
  const small = document.createElement('canvas');
  small.width = COLUMNS;
  small.height = ROWS;
  const context = small.getContext('2d', { willReadFrequently: true, alpha: false });
  context.imageSmoothingEnabled = false;
  const kind = window.CanvasRenderingContext2D.prototype, draw = kind.drawImage;
  const read = READ;
  const see = (picture, width, at) => {
    probe.last = read(picture, width);
    probe.drawn.push([at, probe.last]);
  };
  const video = document.getElementById('video');
  const each = () => {
    const at = performance.now();
    // The first one may be a placeholder.
    if (video.videoWidth > 2) see(video, video.videoWidth, at);
    video.requestVideoFrameCallback(each);
  };
  video.requestVideoFrameCallback(each);
  kind.drawImage = function (...all) {
    draw.apply(this, all);
    if (this.canvas.id === 'canvas') see(this.canvas, this.canvas.width, performance.now());
  };
  const Connection = window.RTCPeerConnection;
  window.RTCPeerConnection = function (...all) { return probe.connection = new Connection(...all); };
  const decoder = window.VideoDecoder?.prototype, decode = decoder?.decode;
  if (decoder) decoder.decode = function (unit) {
    probe.units += 1;
    probe.keys += unit.type === 'key' ? 1 : 0;
    return decode.call(this, unit);
  };
  addEventListener('keydown', event => { if (event.key === 'Enter') probe.entered = performance.now(); }, true);
  return true;
})()"""

# What is read of a picture: the pattern's code, or how bright its middle is (green, 0 to 255).
CODE_READER = """(picture, width) => {
    const block = 16 * width / WIDTH;
    draw.call(context, picture, block, block, COLUMNS * block, ROWS * block, 0, 0, COLUMNS, ROWS);
    const data = context.getImageData(0, 0, COLUMNS, ROWS).data;
    let code = '';
    for (let i = 0; i < data.length; i += 16) {
      let digit = 0;
      for (let j = i; j < i + 16; j += 4) digit = 2 * digit + (data[j + 1] > 127 ? 1 : 0);
      code += digit.toString(16);
    }
    return code;
  }"""
FLASH_READER = """(picture, width) => {
    draw.call(context, picture, width / 2, width * 9 / 32, 1, 1, 0, 0, 1, 1);
    return context.getImageData(0, 0, 1, 1).data[1];
  }"""

# What has come so far, and how many keyframes were asked for: by WebCodecs none ever is.
FIGURES = """(async () => {
  const probe = window.beamProbe;
  if (!probe.connection) return { asked: 0, keyframes: probe.keys, pictures: probe.units };
  for (const report of (await probe.connection.getStats()).values()) {
    if (report.type !== 'inbound-rtp' || report.kind !== 'video') continue;
    return { asked: report.pliCount + (report.firCount ?? 0), keyframes: report.keyFramesDecoded,
      pictures: report.framesDecoded };
  }
})()"""

# The picture that was drawn last, and what had come then or a moment later.
LAST = f"(async () => {{ const last = window.beamProbe.last; return {{ ...await {FIGURES}, last }}; }})()"


@dataclasses.dataclass(frozen=True)
class Drawn:
    """A picture. Times in seconds of CLOCK_MONOTONIC. The number is -1 if its code can't be read."""

    at: float
    number: int = -1
    painted: float = 0

    @property
    def latency(self) -> float:
        """In ms."""
        return (self.at - self.painted) * 1e3


def read(at: float, code: str) -> Drawn:
    """A picture by its code: marker, number, time in nanoseconds, checksum of both."""
    said = bytes.fromhex(code[4:28])
    if code[:4] != MARKER or binascii.crc_hqx(said, 0xFFFF) != int(code[28:], 16):
        return Drawn(at)
    return Drawn(at, int.from_bytes(said[:4], "big"), int.from_bytes(said[4:], "big") * 1e-9)


class Page:
    """The host's page, by http or https, in a browser that has it to itself."""

    def __init__(self, browser: Browser, scheme: str, width: int = 1920, reader: str = CODE_READER) -> None:
        """`width`: of the pattern's pictures."""
        self.browser, self.width, self.reader = browser, width, reader
        self.address = f"{scheme}://{HOST}:{WEB_PORT}/"
        # Of this machine's clock and the page's, in seconds; and how far from that it may be.
        self.offset = self.error = 0.0

    def open(self) -> None:
        """Up to the question for the code."""
        # Otherwise the address may be the one that is shown.
        self.leave()
        self.browser.navigate(self.address)
        self.browser.wait("document.body.dataset.state === 'code' && document.getElementById('code').offsetParent !== null")
        script = PROBE
        for name, value in (("READ", self.reader), ("COLUMNS", COLUMNS), ("ROWS", ROWS), ("WIDTH", self.width)):
            script = script.replace(name, str(value))
        self.browser.evaluate(script)
        self.align()

    def enter(self) -> float:
        """Types the code; how long it takes from Enter until the first picture is drawn, in ms."""
        if isinstance(self.browser, Chromium):
            self.browser.type(CODE)
        else:
            self.browser.evaluate(f"(document.getElementById('code').value = '{CODE}', window.beamProbe.entered ="
                                  " performance.now(), document.getElementById('entry').requestSubmit(), true)")
        self.browser.wait("document.body.dataset.state === 'playing' && window.beamProbe.drawn.length > 0")
        return self.browser.evaluate("window.beamProbe.drawn[0][0] - window.beamProbe.entered")

    def leave(self) -> None:
        """As when a person closes the page: the host knows at once."""
        self.browser.navigate("about:blank")
        time.sleep(0.3)

    def align(self) -> None:
        """Compares both clocks; the quickest answer says it best."""
        found = []
        for _ in range(40):
            before = time.monotonic()
            page = self.browser.evaluate("performance.now()") / 1e3
            after = time.monotonic()
            found.append(((after - before) / 2, (before + after) / 2 - page))
        self.error, self.offset = min(found)

    def seen(self) -> list[tuple[float, Any]]:
        """What was read of the pictures that were drawn since it was asked last, and when, in seconds of CLOCK_MONOTONIC."""
        return [(at / 1e3 + self.offset, found) for at, found in self.browser.evaluate("window.beamProbe.drawn.splice(0)")]

    def drawn(self) -> list[Drawn]:
        """The pictures of the pattern that were drawn since it was asked last."""
        return [read(at, code) for at, code in self.seen()]

    def turn_sound(self, is_on: bool) -> None:
        """By a click on its button, as a person has to."""
        assert isinstance(self.browser, Chromium)
        self.browser.wait("!document.getElementById('sound').hidden")
        self.browser.click("sound")
        self.browser.wait(f"document.getElementById('sound').getAttribute('aria-pressed') === '{str(is_on).lower()}'", 5)

    def figures(self) -> dict[str, Any]:
        return self.browser.evaluate(FIGURES)

    def ahead(self) -> int:
        """The number of the picture that was drawn last, less the pictures that were decoded until then: grows by one with
        each picture that never came to be decoded, and by none that was, but wasn't drawn because there was a newer one.
        """
        found = []
        # More may have been decoded than what is drawn. Chromium's figures are up to 50 ms old.
        for _ in range(15):
            time.sleep(0.08)
            told = self.browser.evaluate(LAST)
            last = read(0, told["last"])
            if last.number >= 0:
                found.append(last.number - told["pictures"])
        return max(found)

    def heap(self) -> int:
        """Bytes that the page's JavaScript holds in Chromium, after what is unused was collected."""
        assert isinstance(self.browser, Chromium)
        self.browser.send("HeapProfiler.collectGarbage")
        return int(self.browser.send("Runtime.getHeapUsage")["usedSize"])


@contextlib.contextmanager
def watching(place: Place, kind: type[Browser], scheme: str, size: tuple[int, int], width: int = 1920,
             reader: str = CODE_READER, sound: dict[str, str] | None = None) -> Iterator[Page]:
    """A browser that shows the first picture. `sound`: by which variables it finds a sound server."""
    with place.browser(kind, size, sound) as browser:
        page = Page(browser, scheme, width, reader)
        page.open()
        page.enter()
        yield page
        page.leave()


def firsts(drawn: list[Drawn]) -> list[Drawn]:
    """Each picture when it is drawn first: it is drawn again when it has been refined."""
    found, last = [], -1
    for one in drawn:
        if one.number > last:
            found.append(one)
            last = one.number
    return found


def wrong(drawn: list[Drawn]) -> int:
    """Pictures that can't be read, or are older than the one before."""
    last, count = -1, 0
    for one in drawn:
        count += one.number < max(last, 0)
        last = max(last, one.number)
    return count


def summary(drawn: list[Drawn], seconds: float) -> dict[str, Any]:
    """Latency and longest gap in ms, pictures a second."""
    new = firsts(drawn)
    times = [one.latency for one in new]
    gaps = [after.at - before.at for before, after in zip(new, new[1:])]
    return {"median": percentile(times, 0.5), "p95": percentile(times, 0.95), "fps": len(new) / seconds,
            "gap": max(gaps) * 1e3 if gaps else None, "wrong": wrong(drawn)}
