"""The honest viewer without an attack, as a reference for every other row."""

import time

from lab.attack.laboratory import Attack, Laboratory, Row


class Undisturbed(Attack):
    """Nobody attacks."""

    name = "undisturbed"
    short = True
    judges_pictures = False

    def play(self, lab: Laboratory, row: Row) -> None:
        with lab.scene() as scene, scene.attack(row):
            time.sleep(lab.seconds(8, 3))
        row.words = f"host {row.host_processor:.0%}, viewer {row.viewer_processor:.0%} of a core"


ATTACKS = [Undisturbed]
