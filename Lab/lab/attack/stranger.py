"""Run as a program: knocks at a door, and prints as JSON all that it is told before it has proved anything."""

import hashlib
import json
import sys
import tempfile

from cryptography import x509
from cryptography.hazmat.primitives import serialization

from lab.attack import mesh
from lab.attack.peer import Peer, Refused
from lab.attack.wire import Identity


def certificate_fields(der: bytes) -> dict[str, str]:
    found = x509.load_der_x509_certificate(der)
    key = found.public_key().public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    return {
        "key": hashlib.sha256(key).hexdigest(), "serial number": str(found.serial_number),
        "subject": found.subject.rfc4514_string(), "issuer": found.issuer.rfc4514_string(),
        "begin": found.not_valid_before.isoformat(), "end": found.not_valid_after.isoformat(),
        "extensions": repr(list(found.extensions)), "signature": found.signature.hex(),
        "algorithm": found.signature_algorithm_oid.dotted_string, "version": found.version.name,
    }


def knock(address: str, port: int) -> dict[str, str]:
    with tempfile.TemporaryDirectory(prefix="beamroom-stranger-") as directory:
        identity = Identity(directory, "stranger")
        with Peer(address, port, identity) as peer:
            fields = {f"certificate {name}": value
                      for name, value in certificate_fields(peer.socket.getpeercert(True) or b"").items()}
            welcome = peer.greet("stranger", features=mesh.FEATURE)
            fields |= {"door name": welcome.name.decode(), "door methods": str(welcome.methods),
                       "door nonce": welcome.nonce.hex(), "door features": str(welcome.features),
                       "door version": str(welcome.version)}
        # A link of members, which a stranger has no right to.
        try:
            with Peer(address, port, identity, protocol="beamroom-room/2") as peer:
                fields["link words"] = (peer.read(2) or b"").hex()
        except Refused:
            fields["link words"] = ""
    return fields


if __name__ == "__main__":
    print(json.dumps(knock(sys.argv[1], int(sys.argv[2]))))
