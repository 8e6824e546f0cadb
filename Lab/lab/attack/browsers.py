"""Attacks of browsers on being let in: codes, what only an admitted one may send, and questions to the person."""

import collections
import contextlib
import json
import random
import time

from lab.attack import browser, webrtc
from lab.attack.browser import Gone, Page
from lab.attack.laboratory import Apart, Attack, Laboratory, Row, Verdict
from lab.attack.places import first_picture
from lab.attack.webplace import INSIDE, NEWCOMER, WEB_CODE, Place, web_place
from lab.common.programs import Terminal
from lab.common.states import CODE

# Questions to the person within 15 s, of one address: more are refused.
MOST_QUESTIONS = 4


class Codes(Attack):
    """From 4 addresses, 16 pages at a time send wrong codes as fast as they are taken, by http and https; meanwhile a new
    native viewer comes with its code, and then a browser with the right one."""

    name = "web-codes"

    def play(self, lab: Laboratory, row: Row) -> None:
        seconds = lab.seconds(10, 5)
        with web_place(lab) as place:
            with place.attack(row):
                since = time.monotonic()
                with Apart(self.guess, place.port, seconds) as attacker:
                    native = first_picture(lab, place.scene, row, "--code", CODE, known=False, patience=8)
                    tried, waits, inside = attacker.result()
                looked = len(place.scene.host.named("wrong-code", since))
                row.words = f"{tried} tries in {seconds} s, {looked} looked at, {waits} told to wait; {native}"
                # Five tries are free; the next are allowed after 1, 2, 4 … s.
                if inside or looked > 5 + 4:
                    row.came = "in"
                elif not looked:
                    raise Verdict("unclear", "no code was looked at")
            row.words += "; " + self.right_code(place, row)

    @staticmethod
    def right_code(place: Place, row: Row) -> str:
        """Types the right code when the pause that a browser is told is over."""
        with Page(place.port, NEWCOMER) as page:
            pauses = []
            for _ in range(3):
                page.hello(WEB_CODE)
                answer = page.wait_for("no", "offer", "refused")
                if answer is None or answer["t"] == "refused":
                    break
                if answer["t"] == "offer":
                    return f"the right code was taken after {' + '.join(map(str, pauses)) or 0} s"
                pauses.append(answer["pause"])
                time.sleep(answer["pause"])
        row.came = "kept out"
        return f"the right code wasn't taken after pauses of {pauses} s"

    @staticmethod
    def guess(port: int, seconds: float) -> tuple[int, int, int]:
        """How many codes were sent, how often the answer was to wait, and how often that it is in."""
        generator = random.Random(35)
        end, pages = time.monotonic() + seconds, []
        tried = waits = inside = 0
        while time.monotonic() < end:
            while len(pages) < 16:
                index = len(pages)
                try:
                    pages.append(Page(port, f"127.0.71.{1 + index % 4}", index % 8 > 3, 1))
                except (Gone, OSError):
                    break
            for page in list(pages):
                try:
                    # Never the right one, which begins with a 1.
                    page.hello(f"{generator.randrange(200_000, 1_000_000)}")
                    tried += 1
                    answer = page.wait_for("no", *INSIDE, timeout=1)
                    inside += answer is not None and answer["t"] != "no"
                    waits += answer is not None and bool(answer.get("pause"))
                except (Gone, OSError):
                    page.close()
                    pages.remove(page)
            time.sleep(0.002)
        for page in pages:
            page.close()
        return tried, waits, inside


class BeforeEntry(Attack):
    """Pages that weren't let in send whatever one sends that was: answers, made-up tokens and another browser's, numbers of
    pictures, pongs without end; at once, after a wrong code, and while the person is asked."""

    name = "web-before"
    short = True

    def play(self, lab: Laboratory, row: Row) -> None:
        terminal = Terminal()
        try:
            with web_place(lab, accept="ask", stderr=terminal.slave, stdin=terminal.slave) as place, place.attack(row):
                with Page(place.port, NEWCOMER, secure=True) as honest:
                    honest.hello(WEB_CODE, browser.UNITS)
                    token = (honest.wait_for("in") or {})["token"]
                    with Apart(self.try_all, place.port, token, webrtc.answer(lab.identity())) as attacker:
                        told = attacker.result()
                    honest.goodbye()
                names = {event["name"] for event in place.scene.host.named("paired") if event.get("name")}
                kinds = collections.Counter(message["t"] for message in told)
                named = [message for message in told if any(name in json.dumps(message) for name in names)]
                row.words = ", ".join(f"{count} times “{kind}”" for kind, count in sorted(kinds.items()))
                row.words += f"; none of {len(names)} names of viewers"
                if kinds.keys() & INSIDE or "unit" in kinds:
                    row.came = "in"
                elif named:
                    row.came, row.words = "in", f"{len(named)} messages name a viewer: {named[0]}"
                elif not kinds.keys() >= {"no", "wait", "expired", "refused"}:
                    row.came = "unclear"
        finally:
            terminal.close()

    @staticmethod
    def try_all(port: int, token: str, sdp: str) -> list[dict[str, str]]:
        """All that the host has told the pages."""
        told = []
        for secure in (False, True):
            for state in ("opened", "rejected", "asked"):
                for index, sent in enumerate(BeforeEntry.messages(token, sdp, secure)):
                    # Few questions of one address are put to the person.
                    with contextlib.suppress(Gone, OSError), Page(port, f"127.0.75.{1 + index}", secure) as page:
                        told += BeforeEntry.send(page, state, sent)
        return told

    @staticmethod
    def send(page: Page, state: str, sent: list[str]) -> list[dict[str, str]]:
        """What the host tells a page until it closes, or has nothing more to say."""
        told = []

        def take(timeout: float) -> bool:
            message = page.read(timeout)
            if message is not None:
                told.append(message if isinstance(message, dict) else {"t": "unit"})
            return message is not None

        with contextlib.suppress(Gone, OSError):
            if state != "opened":
                page.hello("246802" if state == "rejected" else None)
                take(2)
            for message in sent:
                page.send(message)
            while take(0.25):
                pass
        return told

    @staticmethod
    def messages(token: str, sdp: str, secure: bool) -> list[list[str]]:
        # By https another browser's token would be a stolen one, which nothing can tell from its own.
        tokens = ["", "A" * 22 + "==", "A" * 64, "A" * 65, "\\u0000", *([] if secure else [token])]
        return [[json.dumps({"t": "answer", "sdp": sdp})], *([f'{{"t": "resume", "token": "{made}"}}'] for made in tokens),
                [json.dumps({"t": "drawn", "n": number}) for number in (0, 1, 2 ** 31, 2 ** 32 - 1)],
                ['{"t": "pong"}'] * 900]


class Questions(Attack):
    """From 4 addresses, browsers without the code ask three times each; then they hang up and ask again, for 8 s; then an
    honest browser asks, whom the person lets in."""

    name = "web-questions"
    judges_pictures = False

    def play(self, lab: Laboratory, row: Row) -> None:
        terminal = Terminal()
        try:
            with web_place(lab, accept="ask", watches=False, stderr=terminal.slave, stdin=terminal.slave) as place, \
                    place.scene.attack(row):
                before = len(terminal.text)
                with Apart(self.flood, place.port, lab.seconds(8, 4)) as attacker:
                    tried, waiting = attacker.result()
                time.sleep(0.5)
                asked = self.count(place)
                shown = " ".join(terminal.text[before:].split()).count("Let that browser watch?")
                row.words = f"{tried} asked, {waiting} of them were told to wait; {asked} were put, {shown} shown"
                if max(asked, waiting) > 4 * MOST_QUESTIONS:
                    row.came = "floods the person"
                else:
                    row.words += "; " + self.honest(place, terminal, row)
        finally:
            terminal.close()

    @staticmethod
    def count(place: Place) -> int:
        """Questions that the host tells of; more than 20 in 10 s are summed up."""
        host = place.scene.host
        sums = [event["count"] for event in host.named("unknown-peers") if event["what"] == "questions"]
        return max(len(host.named("pairing")), sum(sums))

    @staticmethod
    def flood(port: int, seconds: float) -> tuple[int, int]:
        """How many asked, and how many were told to wait for the person."""
        end, tried, waiting, pages = time.monotonic() + seconds, 0, 0, []
        while time.monotonic() < end:
            for index in range(12):
                with contextlib.suppress(Gone, OSError):
                    page = Page(port, f"127.0.76.{1 + index % 4}", timeout=1)
                    page.hello()
                    tried += 1
                    waiting += page.wait_for("wait", "refused", timeout=1) == {"t": "wait"}
                    pages.append(page)
            if tried > 12:
                time.sleep(0.3)
            else:
                time.sleep(2)
            for page in pages:
                page.close()
            pages = []
        return tried, waiting

    @staticmethod
    def honest(place: Place, terminal: Terminal, row: Row) -> str:
        before = len(terminal.text)
        with Page(place.port, NEWCOMER) as page:
            page.hello()
            answer = page.wait_for("wait", "refused")
            is_shown = terminal.wait_for(NEWCOMER, 5, before) and terminal.wait_for("[y/n]", 2, before)
            # Not typed ahead: the person reads.
            time.sleep(1.5)
            terminal.type("y\n")
            if answer == {"t": "wait"} and is_shown and page.wait_for("offer"):
                return "the honest one was shown, and let in"
        row.came = "kept out"
        return f"the honest one was told {answer}"


class Lost(Attack):
    """The socket of an admitted browser breaks off without a goodbye, and comes again by its token, five times, and then no
    more; another one reads nothing and acknowledges nothing."""

    name = "web-lost"
    short = True

    def play(self, lab: Laboratory, row: Row) -> None:
        with web_place(lab) as place, place.attack(row):
            with Page(place.port, "127.0.77.40", secure=True) as idle:
                idle.hello(WEB_CODE, browser.UNITS)
                token, told = None, collections.Counter()
                for _ in range(6):
                    with Page(place.port, "127.0.77.41", secure=True) as page:
                        if token:
                            page.send({"t": "resume", "token": token})
                        else:
                            page.hello(WEB_CODE, browser.UNITS)
                        answer = page.wait_for("in", "again", "expired") or {"t": "nothing"}
                        token = answer.get("token", token)
                        told[answer["t"]] += 1
                        end = time.monotonic() + 0.4
                        while time.monotonic() < end:
                            page.read(0.1)
                    # Long enough for a line of figures without it.
                    time.sleep(1.1)
            time.sleep(1.1)
            row.words = ", ".join(f"{count} times “{kind}”" for kind, count in told.items())
            if told.keys() != {"in", "again"}:
                row.came = "unclear"


ATTACKS = [Codes, BeforeEntry, Lost, Questions]
