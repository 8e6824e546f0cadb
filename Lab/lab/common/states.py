"""State folders of hosts and viewers: their keys, and the devices that they know."""

import itertools
import pathlib
import shutil
from collections.abc import Callable

from lab.common.programs import Program

CODE = "482913"
Start = Callable[[pathlib.Path], Program]


class States:
    """New state folders in a directory. Those of a host and a viewer that know each other are copies: pairing is done once
    for all places that share the folder `shared`.
    """

    def __init__(self, directory: pathlib.Path, shared: pathlib.Path, share: Start, watch: Start) -> None:
        """`share` starts a host that lets in by CODE, `watch` a viewer that brings it; each gets its state folder."""
        self.directory, self.shared = directory, shared
        self.start = {"host": share, "viewer": watch}
        self.numbers = itertools.count(1)

    def new(self, kind: str | None = None) -> pathlib.Path:
        """A new state folder; with `kind` a copy of the paired host's or viewer's."""
        path = self.directory / f"state-{next(self.numbers)}"
        if kind:
            shutil.copytree(self.paired() / kind, path)
        else:
            path.mkdir(mode=0o700)
        return path

    def paired(self) -> pathlib.Path:
        path, made = self.shared / "paired", self.shared / "pairing"
        if path.exists():
            return path
        with self.start["host"](made / "host") as host:
            if not host.wait_for("ready"):
                raise RuntimeError(f"the host doesn't start: {host.error_text}")
            with self.start["viewer"](made / "viewer") as viewer:
                store = made / "host" / "beamroom" / "devices.json"
                # The host may store the pairing a moment later.
                if not viewer.wait_for("first-frame") or not host.wait(
                        lambda: store.exists() and '"key"' in store.read_text(), 5):
                    raise RuntimeError(f"no pairing: {host.error_text} {viewer.error_text}")
        made.rename(path)
        return path
