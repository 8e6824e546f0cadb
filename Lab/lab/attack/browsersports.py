"""Attacks on the ports for browsers: connections, requests of other sites' pages, and datagrams."""

import collections
import contextlib
import itertools
import os
import random
import socket
import struct
import time
from collections.abc import Callable

from lab.attack import browser, webrtc
from lab.attack.browser import Gone, Page, request
from lab.attack.laboratory import Apart, Attack, Laboratory, Row, Verdict
from lab.attack.lies import drain
from lab.attack.webplace import NEWCOMER, WEB_CODE, web_place
from lab.attack.webrtc import Stream


class Connections(Attack):
    """From 20 addresses, 100 connections are kept that say nothing; then 100 WebSockets that say nothing; then 100 that
    send a request's header, a byte a second. Each that the host closes is opened again."""

    name = "web-connections"

    def play(self, lab: Laboratory, row: Row) -> None:
        seconds, told = lab.seconds(6, 4), []
        with web_place(lab) as place, place.attack(row):
            for kind in ("silent", "sockets", "slow"):
                with Apart(self.hold, place.port, kind, seconds) as attacker:
                    time.sleep(2)
                    page, entry = place.page_time(row), place.entry_time(row)
                    opened = attacker.result()
                told.append(f"{kind}: {opened} opened, the page came after {page:.2f} s, in after {entry:.2f} s")
                if row.came != "nothing":
                    break
            row.words = f"{row.words}; {'; '.join(told)}".removeprefix("; ")

    @staticmethod
    def hold(port: int, kind: str, seconds: float) -> int:
        """Keeps 100 open; returns how many were opened."""
        begin, opened, turn = time.monotonic(), 0, 0
        held: list[socket.socket] = []
        start = {"silent": b"", "sockets": browser.upgrade(port), "slow": b"GET / HTTP/1.1\r\nHost: "}[kind]
        while time.monotonic() < begin + seconds:
            for index in range(100 - len(held)):
                with contextlib.suppress(OSError, Gone):
                    way = browser.open_way(port, f"127.0.72.{1 + (opened + index) % 20}", timeout=0.3)
                    held.append(way)
                    way.sendall(start)
                    opened += 1
            is_second = time.monotonic() > begin + turn
            turn += is_second
            held = [way for way in held if Connections.goes_on(way, kind == "slow" and is_second)]
            time.sleep(0.05)
        for way in held:
            way.close()
        return opened

    @staticmethod
    def goes_on(way: socket.socket, sends: bool) -> bool:
        try:
            if sends:
                way.sendall(b"x")
            way.setblocking(False)
            if way.recv(4096):
                return True
        except BlockingIOError:
            return True
        except OSError:
            pass
        finally:
            way.settimeout(0.3)
        way.close()
        return False


class Origins(Attack):
    """Pages of other sites: another Origin, none, two; another name in Host (rebound), none, two; by http and by https.
    """

    name = "web-origins"
    short = True

    def play(self, lab: Laboratory, row: Row) -> None:
        counts, wrong = collections.Counter(), []
        with web_place(lab) as place:
            with place.attack(row):
                # So many that none opens more connections than it may.
                addresses = itertools.cycle(f"127.0.73.{number}" for number in range(1, 17))
                for secure in (False, True):
                    for title, expected, sent in self.requests(place.port, secure):
                        found = browser.status(browser.ask(place.port, sent, next(addresses), secure, 2))
                        counts[found] += 1
                        if found != expected:
                            wrong.append(f"{title} by {'https' if secure else 'http'}: {found} instead of {expected}")
                        if found in (101, 200) and expected not in (101, 200):
                            row.came = "in"
                time.sleep(lab.seconds(2, 1))
                row.words = ", ".join(f"{count} times {found}" for found, count in sorted(
                    counts.items(), key=lambda item: item[0] or 0)) + " (101 and 200: the host's own page)"
        if wrong and row.came == "nothing":
            row.came = "unclear"
        row.words += "".join(f"; {line}" for line in wrong)

    @staticmethod
    def requests(port: int, secure: bool) -> list[tuple[str, int, bytes]]:
        """What is wrong with a request, the status that it must get, and the request."""
        scheme, other = ("https", "http") if secure else ("http", "https")
        own, evil = f"{browser.HOST}:{port}", "evil.example"
        origin = f"Origin: {scheme}://{own}"

        def socket_(*headers: str) -> bytes:
            return request("/ws", *headers, *browser.upgrade_headers())

        origins = {"another site's": f"Origin: {scheme}://{evil}", "one that begins alike":
                   f"Origin: {scheme}://{own}.{evil}", "null": "Origin: null", "empty": "Origin:",
                   "of the other scheme": f"Origin: {other}://{own}", "without the port":
                   f"Origin: {scheme}://{browser.HOST}", "of another port": f"Origin: {scheme}://{browser.HOST}:80",
                   "with a path": f"{origin}/", "with a user": f"Origin: {scheme}://{own}@{evil}"}
        hosts = {"another name": evil, "one that begins alike": f"{own}.{evil}", "an own address in it":
                 f"127.0.0.1.{evil}", "with a user": f"evil@{own}", "an address of others": "192.0.2.7",
                 "empty": "", "with a bad port": f"{browser.HOST}:80x", "a list": f"{own}, {evil}",
                 "a star": "*", "one without end": "a" * 5000}
        found = [("nothing", 101, socket_(f"Host: {own}", origin)), ("nothing", 200, request("/", f"Host: {own}"))]
        found += [(f"Origin {title}", 403, socket_(f"Host: {own}", line)) for title, line in origins.items()]
        found += [("no Origin", 403, socket_(f"Host: {own}")),
                  ("two Origins", 403, socket_(f"Host: {own}", origin, f"Origin: {scheme}://{evil}"))]
        for title, host in hosts.items():
            found += [(f"Host {title}", 421, socket_(f"Host: {host}", f"Origin: {scheme}://{host}")),
                      (f"Host {title}, the page", 421, request("/", f"Host: {host}"))]
        found += [("no Host", 421, socket_(origin)), ("no Host, the page", 421, request("/")),
                  ("two Hosts", 421, socket_(f"Host: {own}", f"Host: {evil}", origin)),
                  ("two Hosts, the page", 421, request("/", f"Host: {own}", f"Host: {own}")),
                  ("an absolute target", 404, request(f"{scheme}://{evil}/ws", f"Host: {own}", origin,
                                                      *browser.upgrade_headers())),
                  ("HTTP/1.0", 400, request("/", f"Host: {own}", version="HTTP/1.0")),
                  ("a blank before the colon", 400, request("/", f"Host : {own}")),
                  ("POST", 404, request("/", f"Host: {own}", method="POST"))]
        return found


class Datagrams(Attack):
    """40,000 random datagrams come to the media port, and requests (STUN) with a known name: with a wrong password, without
    a code, damaged, of other kinds; then DTLS and RTCP from an address that hasn't asked."""

    name = "web-datagrams"
    short = True

    def play(self, lab: Laboratory, row: Row) -> None:
        with web_place(lab) as place, place.attack(row):
            # A browser that was let in, and whose name somebody has overheard.
            with Page(place.port, NEWCOMER) as page:
                page.hello(WEB_CODE)
                name, password = browser.media_secrets((page.wait_for("offer") or {})["sdp"])
                with Apart(self.flood, place.media_port, name, password, lab.seconds(40_000, 10_000)) as attacker:
                    sent, got = attacker.result()
                with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as honest:
                    honest.bind((NEWCOMER, 0))
                    honest.settimeout(2)
                    asked = browser.binding_request(name, password)
                    honest.sendto(asked, (browser.HOST, place.media_port))
                    if not browser.is_answer(honest.recv(2048), asked):
                        raise Verdict("unclear", "the right password isn't answered, either")
            row.words = f"{sent} datagrams, {got} answers; who has the password was answered"
            if got:
                row.came = "answered"

    @staticmethod
    def flood(port: int, name: str, password: str, count: int) -> tuple[int, int]:
        """Datagrams that were sent, and that came back."""
        generator, begin, got = random.Random(35), time.monotonic(), 0
        wrong = password[:-1] + ("a" if password[-1] != "a" else "b")
        makers: list[Callable[[], bytes]] = [
            lambda: browser.binding_request(name, wrong), lambda: browser.binding_request(name, ""),
            lambda: browser.binding_request("x" * 8, password), lambda: browser.binding_request(name, password, kind=0x0011),
            lambda: browser.binding_request(name, password, kind=0x0101),
            lambda: browser.binding_request(name, password, with_code=False),
            lambda: damaged(browser.binding_request(name, password, with_check=False), generator),
            lambda: damaged(browser.binding_request(name, password), generator),
            lambda: browser.binding_request(name, password)[:generator.randrange(1, 76)],
            # A ClientHello's head, and RTCP's.
            lambda: struct.pack(">BHQH", 22, 0xFEFD, 0, 200) + b"\x01" + os.urandom(199),
            lambda: struct.pack(">BBHI", 0x81, 201, 7, 1) + os.urandom(36),
        ]
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as media:
            media.bind(("127.0.74.1", 0))
            media.setblocking(False)
            for number in range(count + 200 * len(makers)):
                if number < count:
                    sent = bytes([generator.randrange(256)]) + generator.randbytes(generator.randrange(1400))
                else:
                    sent = makers[number % len(makers)]()
                with contextlib.suppress(OSError):
                    media.sendto(sent, (browser.HOST, port))
                if number % 100 == 99:
                    time.sleep(max(0, begin + number / 10_000 - time.monotonic()))
            time.sleep(0.5)
            with contextlib.suppress(BlockingIOError):
                while media.recv(2048):
                    got += 1
        return number + 1, got


def damaged(datagram: bytes, generator: random.Random) -> bytes:
    """With a changed bit in the name or the code, so that the length still is right."""
    position = generator.randrange(24, len(datagram) - 12)
    return datagram[:position] + bytes([datagram[position] ^ 1 << generator.randrange(8)]) + datagram[position + 1:]


class ThirdParty(Attack):
    """An admitted browser's stream runs; then it asks once from a victim's address for the stream to come there: what does
    the victim get in 10 s?"""

    name = "web-third-party"

    def play(self, lab: Laboratory, row: Row) -> None:
        with web_place(lab) as place, place.attack(row), Page(place.port, "127.0.78.1") as page:
            page.hello(WEB_CODE)
            with Stream(page, place.media_port, lab.identity(), "127.0.78.1") as stream, Stream.bound("127.0.78.2") as victim:
                said, got, end = stream.check(victim), 0, time.monotonic() + lab.seconds(10, 4)
                victim.setblocking(False)
                while time.monotonic() < end:
                    time.sleep(0.03)
                    got += drain(victim)
            row.words = f"{got} bytes for {said}"
            if got > 3 * said:
                row.came = "aimed"


class ThirdPartyBegin(Attack):
    """An admitted browser asks and begins DTLS from a victim's address, and then from its own: what does the victim get in
    10 s?"""

    name = "web-third-party-begin"

    def play(self, lab: Laboratory, row: Row) -> None:
        with web_place(lab) as place, place.attack(row), Page(place.port, "127.0.78.1") as page:
            page.hello(WEB_CODE)
            name, password = browser.media_secrets((page.wait_for("offer") or {})["sdp"])
            page.send({"t": "answer", "sdp": webrtc.answer(lab.identity())})
            host = browser.HOST, place.media_port
            with Stream.bound("127.0.78.1") as own, Stream.bound("127.0.78.2") as victim:
                hello = webrtc.client_hello(lab.identity())
                said = sum(victim.sendto(it, host) for it in (browser.binding_request(name, password), hello))
                own.sendto(browser.binding_request(name, password, nominates=False), host)
                own.sendto(hello, host)
                victim.setblocking(False)
                time.sleep(lab.seconds(10, 4))
                got = drain(victim)
            row.words = f"{got} bytes for {said}"
            if got > 3 * said:
                row.came = "aimed"


ATTACKS = [Connections, Origins, Datagrams, ThirdParty, ThirdPartyBegin]
