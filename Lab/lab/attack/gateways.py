"""Attacks of gateways, by which browsers watch."""

from lab.attack.falsegateway import Gateways
from lab.attack.laboratory import Apart, Attack, Laboratory, Row
from lab.attack.webplace import web_place

# As many as a host takes.
MOST_GATEWAYS = 8


class FalseGateways(Attack):
    """Of 8 gateways one asks for keyframes without end and says that no end of browsers watch; the others flood the host with
    pings and messages that they don't read, answer with huge numbers, wrong types and deep JSON, break WebSocket's rules, send
    it on to other addresses, say nothing any more, and close, each time that the host comes back."""

    name = "web-gateway"

    def play(self, lab: Laboratory, row: Row) -> None:
        gateways, seconds = Gateways(MOST_GATEWAYS), lab.seconds(30, 10)
        with Apart(gateways.run, seconds + 12) as attacker, web_place(lab, *gateways.words) as place:
            host = place.scene.host
            with place.attack(row):
                connections, asked = attacker.result(120)
            problems = len([event for event in host.named("gateway") if event["state"] == "problem"])
            row.words = f"{connections} connections, {asked} requests for keyframes; {problems} problems told{row.words}"
            if row.came == "nothing" and (not problems or not asked):
                row.came = "unclear"


ATTACKS = [FalseGateways]
