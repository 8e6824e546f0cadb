"""A browser's way to the stream by WebRTC, as far as DTLS: packets arrive, and aren't opened."""

from __future__ import annotations

import contextlib
import hashlib
import pathlib
import socket
import ssl
import time
from typing import Self

from OpenSSL import SSL

from lab.attack import browser
from lab.attack.browser import Page
from lab.attack.wire import Identity

PASSWORD = 24 * "x"
PROFILES = b"SRTP_AEAD_AES_128_GCM:SRTP_AES128_CM_SHA1_80"


def answer(identity: Identity) -> str:
    """To an offer: takes the pictures."""
    der = ssl.PEM_cert_to_DER_cert(pathlib.Path(identity.certificate_file).read_text())
    digest = hashlib.sha256(der).hexdigest().upper()
    fingerprint = ":".join(digest[index:index + 2] for index in range(0, len(digest), 2))
    return "\r\n".join([
        "v=0", "o=- 1 2 IN IP4 127.0.0.1", "s=-", "t=0 0", "m=video 9 UDP/TLS/RTP/SAVPF 96", "c=IN IP4 0.0.0.0",
        f"a=ice-ufrag:{browser.BROWSER_NAME}", f"a=ice-pwd:{PASSWORD}", f"a=fingerprint:sha-256 {fingerprint}",
        "a=setup:active",
        "a=recvonly", "a=rtpmap:96 H264/90000", ""])


def dtls_client(identity: Identity, profiles: bytes = PROFILES) -> SSL.Connection:
    """By memory: its datagrams are to be taken and given."""
    context = SSL.Context(SSL.DTLS_METHOD)
    context.use_certificate_file(identity.certificate_file)
    context.use_privatekey_file(identity.key_file)
    context.set_tlsext_use_srtp(profiles)
    connection = SSL.Connection(context, None)
    connection.set_ciphertext_mtu(1200)
    connection.set_connect_state()
    return connection


def client_hello(identity: Identity) -> bytes:
    connection = dtls_client(identity)
    with contextlib.suppress(SSL.WantReadError):
        connection.do_handshake()
    return connection.bio_read(65536)


class Stream:
    """The stream of a page that was let in by http. Checks have to be sent by `check`; nothing is reported."""

    profiles = PROFILES

    def __init__(self, page: Page, port: int, identity: Identity, source: str) -> None:
        """Returns when the first packet has come. `port`: the media port."""
        offer = page.wait_for("offer", "refused")
        if offer is None or offer["t"] != "offer":
            raise browser.Gone(f"no offer but {offer}")
        self.host, self.port = page.host, port
        self.offered(offer["sdp"])
        self.socket = self.bound(source)
        page.send({"t": "answer", "sdp": answer(identity)})
        self.check(self.socket)
        self.socket.settimeout(0.2)
        try:
            self._handshake(identity)
        except BaseException:
            self.close()
            raise

    def offered(self, sdp: str) -> None:
        self.name, self.password = browser.media_secrets(sdp)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self.socket.close()

    @staticmethod
    def bound(source: str) -> socket.socket:
        media = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        media.bind((source, 0))
        return media

    def check(self, way: socket.socket) -> int:
        """Asks for the stream to come that way; returns the bytes that were sent."""
        return way.sendto(browser.binding_request(self.name, self.password), (self.host, self.port))

    def _handshake(self, identity: Identity) -> None:
        connection = self.connection = dtls_client(identity, self.profiles)
        end = time.monotonic() + 5
        while time.monotonic() < end:
            with contextlib.suppress(SSL.WantReadError):
                connection.do_handshake()
            with contextlib.suppress(SSL.WantReadError):
                while True:
                    self.socket.sendto(connection.bio_read(65536), (self.host, self.port))
            with contextlib.suppress(TimeoutError):
                datagram = self.socket.recv(4096)
                # RFC 7983, 7: STUN, DTLS, and the stream.
                if datagram[0] < 4:
                    if reply := browser.check_answer(datagram, PASSWORD):
                        self.socket.sendto(reply, (self.host, self.port))
                elif datagram[0] < 64:
                    connection.bio_write(datagram)
                elif datagram[0] >= 128:
                    return
        raise browser.Gone("no stream")
