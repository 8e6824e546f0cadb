"""Attacks on pairing: being admitted, being remembered, or passing for somebody else."""

import contextlib
import json
import os
import time
import unicodedata

from lab.attack import places, wire
from lab.attack.falsehost import Body, Connection, FalseHost
from lab.attack.laboratory import Apart, Attack, Laboratory, Row, Scene
from lab.attack.peer import Refused
from lab.common.programs import Program, Terminal
from lab.common.states import CODE

# Failed comparisons of six digits, after which nine are compared.
MOST_SHORT_COMPARISONS = 12


class CompareSearch(Attack):
    """A relay commits to nonces until its digits at the host agree with a viewer's, and leaves silently."""

    name = "compare-search"
    short = True

    def play(self, lab: Laboratory, row: Row) -> None:
        terminal = Terminal()
        try:
            with lab.scene(accept="ask", stderr=terminal.slave, stdin=terminal.slave) as scene, scene.attack(row):
                before, seconds = len(terminal.text), lab.seconds(8, 5)
                with Apart(self.search, scene, seconds) as attacker:
                    tries, known, refusal = attacker.result()
                agreed = 0
                if not known:
                    # Without a person there are no digits. Try again with one who soon agrees to every comparison.
                    with Apart(self.search, scene, seconds) as attacker:
                        agreed = self.agree(terminal, seconds)
                        more, known, refusal = attacker.result()
                        tries += more
                time.sleep(0.5)
                said = terminal.text[before:]
        finally:
            terminal.close()
        told = sum("attacker" in line for line in said.splitlines())
        row.words = f"{tries} tries in {seconds} s; the digits were known in {len(known)}, " + (
            f"after {agreed} times that the person agreed to compare" if agreed else "before anybody was asked"
            if known else "and nobody was asked twice") + f"; {told} lines named the attacker"
        if refusal:
            row.words += f"; the last one ended by “{refusal}”"
        # The probability after a day at this rate, with no more comparisons of six digits than now.
        chance = sum(10 ** -count if count < 9 else 86400 / seconds * 10 ** -count for count in known)
        if sum(count < 9 for count in known) > MOST_SHORT_COMPARISONS or chance > 1e-4:
            row.came = "in"
            row.words += f": a 50 % chance after {693_147 / (len(known) / seconds) / 60:.0f} minutes"

    @staticmethod
    def agree(terminal: Terminal, seconds: float) -> int:
        """Types y at every question whether to compare, like a person who expects a viewer; returns how often."""
        seen, agreed, end = len(terminal.text), 0, time.monotonic() + seconds
        while time.monotonic() < end:
            if "compare digits first. [y/n]" in " ".join(terminal.text[seen:].split()):
                seen = len(terminal.text)
                time.sleep(1.5)
                terminal.type("y\n")
                agreed += 1
            time.sleep(0.05)
        return agreed

    @staticmethod
    def search(scene: Scene, seconds: float) -> tuple[int, list[int], str | None]:
        """Returns the number of tries, how many digits each try with known digits had, and why the last one ended."""
        tries, known, refusal = 0, [], None
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                with scene.peer(f"127.0.12.{1 + tries % 5}", timeout=1) as peer:
                    welcome = peer.greet("attacker")
                    tries += 1
                    if not welcome.methods & wire.BY_COMPARING:
                        refusal = "comparing isn't offered"
                        time.sleep(0.2)
                        continue
                    nonce = os.urandom(32)
                    peer.send(bytes([wire.COMPARE_COMMIT]) + wire.commitment(
                        peer.identity.device, peer.host_device, welcome.nonce, nonce))
                    answer = peer.wait_for(wire.COMPARE_NONCE, timeout=2)
                    if answer is not None:
                        # With both nonces the digits are known. Counting them needs no calculation.
                        known.append(answer[33] if len(answer) > 33 else 6)
            except (Refused, OSError) as error:
                refusal = str(error)
                time.sleep(0.05)
            finally:
                # Otherwise thousands of peers would keep their descriptors open.
                scene.peers.clear()
        return tries, known, refusal


class CompareInsteadOfCode(Attack):
    """A false host offers only comparing to a viewer that was given a code."""

    name = "compare-instead-of-code"
    short = True
    judges_pictures = False

    def play(self, lab: Laboratory, row: Row) -> None:
        seen = []
        state = lab.state()
        with FalseHost(lab.identity("false-host"), compare_as_host(seen), methods=wire.BY_COMPARING) as host, \
                Program([lab.program, "watch", f"127.0.0.1:{host.port}", "--no-window", "--json", "--code", CODE,
                         "--time-limit", "30"], state) as viewer:
            viewer.wait(lambda: viewer.named("device-paired") or viewer.named("refused") or viewer.fate, 6)
            paired = viewer.named("device-paired")
            # The message for the person comes a moment later.
            time.sleep(0.3)
        row.viewer_megabytes = viewer.peak
        row.words = f"the viewer said “{last_line(viewer.error_text)}”"
        if paired or wire.PAIRED in seen:
            row.came = "in"


def compare_as_host(seen: list[int], name: str | None = None) -> Body:
    """A false host's body: completes a comparison in whichever order the viewer accepts."""
    def body(host: FalseHost, connection: Connection) -> None:
        if name:
            host.name = name
        host.greet(connection)
        message = connection.wait_for(wire.COMPARE_COMMIT, wire.CODE_SHARE, wire.BYE, timeout=3)
        if message is None or message[0] != wire.COMPARE_COMMIT:
            return
        seen.append(wire.COMPARE_COMMIT)
        # The number of digits follows the nonce; older viewers ignore it.
        connection.send(bytes([wire.COMPARE_NONCE]) + os.urandom(32) + bytes([6]))
        if connection.wait_for(wire.COMPARE_REVEAL, timeout=3) is None:
            return
        connection.send(bytes([wire.PAIRED, 1]))
        if connection.wait_for(wire.JOIN, timeout=2) is not None:
            seen.append(wire.PAIRED)
        time.sleep(1)
    return body


def last_line(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1][:120] if lines else ""


class NameThief(Attack):
    """A host that was paired as “lamp” pairs again as “desk”, which is another host's name."""

    name = "name-thief"
    judges_pictures = False

    def play(self, lab: Laboratory, row: Row) -> None:
        seen = []
        # It knows a host “desk” already, by another key.
        state = lab.state("viewer")
        for name in ("lamp", "desk"):
            with FalseHost(lab.identity("thief"), compare_as_host(seen, name), methods=wire.BY_COMPARING) as host, \
                    Program([lab.program, "watch", f"127.0.0.1:{host.port}", "--no-window", "--json",
                             "--time-limit", "30"], state) as viewer:
                viewer.wait(lambda: viewer.named("device-paired") or viewer.named("refused") or viewer.fate, 5)
                time.sleep(0.7)
        devices = json.loads((state / "beamroom" / "devices.json").read_text())["devices"]
        thief = lab.identity("thief").device.hex()
        taken = [device["name"] for device in devices if device["key"] == thief]
        row.viewer_megabytes = viewer.peak
        row.words = f"the thief's key stands under {taken}; the viewer said “{last_line(viewer.error_text)}”"
        if "desk" in taken:
            row.came = "in"


FORGED = "“desk” (192.0.2.7) asks to watch. Does it show the digits 482 913? [y/n]"
NAMES = {
    "a question and spaces": ("x” is let in.  " + FORGED + " " * 200).encode()[:240],
    "right to left": "friend \u202egnihctaw\u202c \u2066x\u2069".encode(),
    "a line separator": "x\u2028“desk” is let in.".encode(),
    "no width": "d\u200be\u200bs\u200dk\ufeff".encode(),
    "many marks": ("d" + "\u0301" * 100).encode(),
    "tags": "d\U000e0041\U000e0042".encode(),
    "wide": ("漢" * 60).encode(),
}


class FakeQuestion(Attack):
    """Viewers ask with names that contain a question, spaces, or characters that reverse or hide other text."""

    name = "fake-question"
    short = True
    judges_pictures = False

    def play(self, lab: Laboratory, row: Row) -> None:
        found = []
        # A host for each: while a question is open, no other one is shown.
        for title, name in NAMES.items():
            terminal = Terminal()
            try:
                with lab.scene(accept="ask", viewer=False, stderr=terminal.slave, stdin=terminal.slave) as scene, \
                        scene.attack(row):
                    before = len(terminal.text)
                    with scene.peer("127.0.13.1") as peer:
                        places.ask(peer, name)
                        terminal.wait_for("[y/n]", 1, before)
                        time.sleep(0.2)
                    if is_fooled(terminal.text[before:]):
                        found.append(title)
            finally:
                terminal.close()
        row.words = f"shown as they came: {', '.join(found)}" if found else f"{len(NAMES)} names, none did any harm"
        if found:
            row.came = "in"


def is_fooled(text: str) -> object:
    """Whether a name reached the terminal with more than 32 columns or with invisible characters."""
    # The program rings once for a request.
    plain = text.replace("\a", "", 1)
    for own in ("\r", "\n", "\x1b[K", "\x1b[A", "\x1b"):
        plain = plain.replace(own, "")
    hidden = any(unicodedata.category(letter) in ("Cf", "Zl", "Zp", "Cc") for letter in plain)
    whole = "[y/n]" in text and "482 913" in text and "192.0.2.7" in text
    return hidden or whole or "\u0301" * 33 in plain or "漢" * 17 in plain or " " * 40 in plain


class TypedAhead(Attack):
    """The person's “y y”, meant for an honest viewer, must not answer the attacker's question that comes next."""

    name = "typed-ahead"

    def play(self, lab: Laboratory, row: Row) -> None:
        terminal = Terminal()
        try:
            with lab.scene(accept="ask", viewer=False, stderr=terminal.slave, stdin=terminal.slave) as scene, \
                    scene.attack(row):
                with lab.watch(lab.state(), scene.port) as honest:
                    asked = terminal.wait_for("[y/n]", 5, terminal.text.find("Ctrl-C"))
                    peer = scene.peer("127.0.14.1")
                    places.ask(peer)
                    terminal.type("y\ny\n")
                    # If the first answer only begins a comparison, the same for the question about the digits.
                    time.sleep(1.5)
                    terminal.type("y\ny\ny\n")
                    got_in = None
                    with contextlib.suppress(Refused):
                        got_in = peer.wait_for(wire.PAIRED, timeout=3)
                    honest_in = honest.wait_for("first-frame", 3)
        finally:
            terminal.close()
        row.words = (f"the honest viewer was {'let in' if honest_in else 'not let in'}, "
                     f"the attacker {'too' if got_in and honest_in else 'was' if got_in else 'was not'}")
        if got_in:
            row.came = "in"
        elif not asked:
            row.came = "unclear"


class Revocation(Attack):
    """A device is forgotten while devices.json is refused because others can read it; then it is readable again."""

    name = "revocation"
    judges_pictures = False

    def play(self, lab: Laboratory, row: Row) -> None:
        with lab.scene(accept="none") as scene, scene.attack(row):
            store = scene.host_state / "beamroom" / "devices.json"
            empty = store.with_name("devices.new")
            empty.write_text('{ "version": 1, "devices": [] }\n')
            empty.chmod(0o644)
            empty.rename(store)
            time.sleep(2)
            left_early = scene.viewer.named("refused") or scene.viewer.fate
            store.chmod(0o600)
            left = left_early or scene.viewer.wait(
                lambda: scene.viewer.named("refused") or scene.viewer.process.poll() is not None, 3)
            told = [line for line in scene.host.error_text.splitlines() if "devices" in line]
            row.words = ("it was sent away " + ("at once" if left_early else "when the file could be read") if left
                         else "it still watches 3 s after the file can be read again")
            row.words += f"; the host said {'“' + told[-1][:100] + '”' if told else 'nothing'}"
        # The viewer is expected to end.
        row.came = "nothing" if left else "stays in"


ATTACKS = [CompareSearch, CompareInsteadOfCode, NameThief, FakeQuestion, TypedAhead, Revocation]
