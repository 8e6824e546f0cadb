"""Attacks on what reads from browsers: requests, frames and messages that no browser sends."""

import collections
import contextlib
import itertools
import json
import random
import time
from collections.abc import Iterator

from lab.attack import browser
from lab.attack.browser import BINARY, CLOSE, CONTINUATION, PING, TEXT, Gone, Page, frame
from lab.attack.laboratory import Apart, Attack, Laboratory, Row
from lab.attack.webplace import INSIDE, WEB_CODE, web_place

# Bytes of a request or a message that are read; what a page may take until its first message, in seconds.
MOST_BYTES, MOST_SILENCE = 16 << 10, 10


def bad_requests(port: int, generator: random.Random) -> dict[str, bytes]:
    own, megabyte = f"Host: {browser.HOST}:{port}", 1 << 20
    page = f"GET / HTTP/1.1\r\n{own}\r\n".encode()
    return {
        "random bytes": generator.randbytes(megabyte), "a record of TLS of random bytes": b"\x16\x03\x01" +
        generator.randbytes(megabyte), "letters without end": b"G" * megabyte, "line ends": b"\r\n" * (megabyte // 2),
        "a header without end": page + b"a: " + b"x" * megabyte, "65 headers": page + b"a: b\r\n" * 65 + b"\r\n",
        "16 KiB and a byte": page + b"a: " + b"x" * (MOST_BYTES + 1 - len(page) - 7) + b"\r\n\r\n",
        "lines without a carriage return": page.replace(b"\r", b"") + b"\n", "a zero": page + b"a: \0\r\n\r\n",
        "not ASCII": page + b"a: \xff\r\n\r\n", "no colon": page + b"a\r\n\r\n", "a folded line": page + b" a: b\r\n\r\n",
        "the length 2^64": page + b"Content-Length: 18446744073709551616\r\n\r\n",
        "a negative length": page + b"Content-Length: -1\r\n\r\n",
        "two lengths": page + b"Content-Length: 0\r\nContent-Length: 5\r\n\r\n",
        "a body in chunks": page + b"Transfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\nx",
        "a frame with the request": browser.upgrade(port) + frame(TEXT, b"{}"),
    }


def bad_frames(generator: random.Random) -> dict[str, bytes]:
    """What ends a page's WebSocket."""
    hello = json.dumps({"t": "hello", "v": 1, "can": [browser.PACKETS], "code": WEB_CODE}).encode()
    half, part = hello[:20], frame(CONTINUATION, b"x" * 1000, fin=False)
    frames = {
        "random bytes": generator.randbytes(1 << 20), "not masked": frame(TEXT, hello, masked=False),
        "16 KiB and a byte": frame(TEXT, b" " * (MOST_BYTES + 1 - len(hello)) + hello),
        "the same in two parts": frame(TEXT, b" " * MOST_BYTES, fin=False) + frame(CONTINUATION, hello),
        "parts without end": frame(TEXT, b"", fin=False) + part * 1000,
        "empty parts": frame(TEXT, hello, fin=False) + frame(CONTINUATION, b"", fin=False) * 64 + frame(CONTINUATION, b""),
        "a part first": frame(CONTINUATION, hello), "a message within another": frame(TEXT, half, fin=False) * 2,
        "binary": frame(BINARY, hello), "a ping of 126 bytes": frame(PING, b"x" * 126), "a goodbye": frame(CLOSE, b""),
        "half a goodbye": frame(CLOSE, b"x"), "pings without end": frame(PING, b"x" * 125) * 1000,
    }
    frames |= {f"the length {length}": frame(TEXT, b"x", length=length)
               for length in (MOST_BYTES + 1, 2 ** 16, 2 ** 31, 2 ** 32, 2 ** 63 - 1, 2 ** 63, 2 ** 64 - 1)}
    frames |= {f"the bits {bits}": frame(TEXT, hello, reserved=bits) for bits in (1, 2, 4)}
    frames |= {f"the kind {kind}": frame(kind, hello) for kind in (3, 7, 11, 15)}
    return frames | {title: frame(TEXT, text) for title, text in bad_messages().items()}


def bad_messages() -> dict[str, bytes]:
    def hello(**changed: object) -> bytes:
        return json.dumps({"t": "hello", "v": 1, "can": [browser.PACKETS], "code": WEB_CODE} | changed).encode()

    depth = MOST_BYTES // 8
    texts = {
        "nothing": b"", "null": b"null", "an array": b"[]", "not UTF-8": b'{"t": "pong\xff"}', "half": b'{"t": "po',
        "two": b'{"t": "pong"}{"t": "pong"}', "no type": b"{}", "another type": b'{"t": "in"}',
        "deep arrays": b"[" * MOST_BYTES, "deep objects": b'{"a":' * (MOST_BYTES // 5),
        "deep in a field": b'{"t": "pong", "a": ' + b"[" * depth + b"]" * depth + b"}",
        "a version": hello(v=2), "no version": hello(v=None), "a version of 10^999": hello(v=0).replace(b": 0", b": 1e999"),
        "a code of 7 digits": hello(code=WEB_CODE + "0"), "a number": hello(code=int(WEB_CODE)),
        "a long code": hello(code="1" * 15_000), "a list of codes": hello(code=[WEB_CODE]), "no forms": hello(can=None),
        "deep forms": hello(can=0).replace(b": 0", b": " + b"[" * 3000 + b"]" * 3000), "9 forms": hello(can=["a"] * 9),
    }
    return texts | {f"the number {number}": f'{{"t": "drawn", "n": {number}}}'.encode()
                    for number in ("-1", "4294967296", "1.5", "1e400", "9" * 1000, '"1"', "null")}


class Garbage(Attack):
    """A megabyte of random bytes, lengths that lie, headers and parts of messages without end, frames that no browser sends,
    and deep JSON: by http, by https, and in a page's WebSocket."""

    name = "web-garbage"

    def play(self, lab: Laboratory, row: Row) -> None:
        with web_place(lab) as place:
            with place.attack(row):
                with Apart(self.send_all, place.port) as attacker:
                    counts, bad = attacker.result(90)
                row.words = ", ".join(f"{title}: {count}" for title, count in sorted(counts.items()))
                if bad:
                    row.came = "in" if any("let in" in line for line in bad) else "taken"
                    row.words += f"; {'; '.join(bad[:5])}"
            if row.came == "nothing":
                row.words += f"; then a browser was let in after {place.entry_time(row):.2f} s"

    @staticmethod
    def send_all(port: int) -> tuple[dict[str, int], list[str]]:
        """How often what became of it, and what the host went on with."""
        generator, counts, bad = random.Random(35), collections.Counter(), []
        # So many that none opens more connections than it may.
        addresses = itertools.cycle(f"127.0.77.{number}" for number in range(1, 17))

        def note(outcome: str, is_well: bool, what: str) -> None:
            counts[outcome] += 1
            if not is_well:
                bad.append(f"{what}: {outcome}")

        with contextlib.ExitStack() as stack:
            waiting = [stack.enter_context(page) for page in Garbage.waiting(port)]
            begin = time.monotonic()
            for secure in (False, True):
                way = "https" if secure else "http"
                for title, sent in bad_requests(port, generator).items():
                    outcome, is_well = Garbage.send_request(port, sent, next(addresses), secure)
                    note(outcome, is_well, f"{title} by {way}")
                for title, sent in bad_frames(generator).items():
                    outcome = Garbage.send_frames(port, sent, next(addresses), secure)
                    note(outcome, outcome == "WebSocket ended", f"{title} by {way}")
            for page in waiting:
                outcome = Garbage.outcome(page, begin + MOST_SILENCE + 3 - time.monotonic())
                note(outcome, outcome == "WebSocket ended", "half a message")
        return dict(counts), bad

    @staticmethod
    def waiting(port: int) -> Iterator[Page]:
        """WebSockets with a message that doesn't end."""
        for sent in (frame(TEXT, b"{", fin=False), frame(TEXT, b"{", length=MOST_BYTES), b"\x81", b"\x81\xfe\x01"):
            page = Page(port, "127.0.77.20")
            page.send_raw(sent)
            yield page

    @staticmethod
    def send_request(port: int, sent: bytes, source: str, secure: bool) -> tuple[str, bool]:
        """What became of it, and whether it was refused."""
        found = None
        with contextlib.suppress(OSError):
            found = browser.status(browser.ask(port, sent, source, secure, 3))
        return f"status {found}" if found else "closed", found not in (101, 200)

    @staticmethod
    def send_frames(port: int, sent: bytes, source: str, secure: bool) -> str:
        with Page(port, source, secure) as page:
            # The host may close while a megabyte is on its way.
            with contextlib.suppress(Gone):
                page.send_raw(sent)
            return Garbage.outcome(page, 3)

    @staticmethod
    def outcome(page: Page, timeout: float) -> str:
        """What becomes of a WebSocket until then."""
        deadline = time.monotonic() + max(0.1, timeout)
        try:
            while True:
                message = page.read(deadline - time.monotonic())
                if message is None:
                    return "WebSocket goes on"
                if isinstance(message, bytes) or message["t"] in INSIDE:
                    return "let in"
        except Gone:
            return "WebSocket ended"


ATTACKS = [Garbage]
