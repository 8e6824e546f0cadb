"""The measured systems, each started as a person would for the least delay."""

import contextlib
import itertools
import json
import os
import pathlib
import secrets
import shlex
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any

from lab.common.screens import Screens, TwoScreens
from lab.common.trouble import Trouble


class System:
    """One way to share a screen. `share` and `watch` return shell commands, which are run in that order."""

    #: The system's name, and the Debian package whose version is recorded.
    title = package = ""
    #: Encodes H.264 at a given bit rate.
    is_h264 = True
    #: Seconds that its viewer gets before the probe begins.
    settling = 1.0

    def share(self, screens: Screens, port: int) -> str:
        raise NotImplementedError

    def watch(self, screens: Screens, port: int) -> str:
        raise NotImplementedError

    def prepare(self, place: TwoScreens) -> None:
        """Called once, before the first run."""

    def stages(self) -> dict[str, Any]:
        """The system's own times, by stage."""
        return {}

    def version(self) -> str:
        query = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", self.package], capture_output=True, text=True)
        return query.stdout if query.returncode == 0 else "unknown"


class BeamRoom(System):
    """As its users run it: encrypted, with a paired viewer."""

    title = "BeamRoom"
    #: Its window names its keys for 5 s, over the picture. The probe looks after 2 s.
    settling = 4.0

    def __init__(self, program: str, directory: pathlib.Path) -> None:
        self.program = program
        self.directory = pathlib.Path(directory)

    def _command(self, end: str, *words: object, session: Mapping[str, str] | None = None) -> str:
        """`session`: more of the environment."""
        state = self.directory / f"{end}-state"
        state.mkdir(exist_ok=True)
        environment = {**(session or {}), "XDG_STATE_HOME": str(state), "XDG_CONFIG_HOME": str(state / "settings")}
        quoted = " ".join(shlex.quote(str(word)) for word in (self.program, *words))
        return " ".join([*(f"{name}={shlex.quote(value)}" for name, value in environment.items()), "exec", quoted])

    def source(self, screens: Screens) -> Sequence[str]:
        """What is shared, as options of the host."""
        return ["--display", screens.host]

    def session(self) -> Mapping[str, str]:
        """The environment of the host's desktop."""
        return {}

    def share(self, screens: Screens, port: int, *more: object) -> str:
        return self._command(
            "host", "share", *self.source(screens), *([] if screens.has_pointer else ["--no-cursor"]),
            "--max-fps", screens.rate, "-b", f"{screens.bit_rate}k", "--bind", screens.host_address, "--port", port,
            "--media-port", port + 1, "--no-discovery", "--json", *(more or ["--trusted-only"]),
            session=self.session()) + f" >{self.directory}/host.json"

    def watch(self, screens: Screens, port: int, *more: object) -> str:
        command = self._command("viewer", "watch", f"{screens.host_address}:{port}", "--fullscreen", "--json", *more)
        return f"DISPLAY={screens.viewer} {command} >{self.directory}/viewer.json"

    def prepare(self, place: TwoScreens) -> None:
        # Pairs the viewer by the code; afterwards the host admits only paired viewers.
        port = place.next_port()
        code = ("--code", f"{secrets.randbelow(10 ** 6):06}")
        with place.running(self.share(place.screens, port, *code), "share"):
            time.sleep(1)
            with place.running(self.watch(place.screens, port, *code), "watch"):
                place.wait_for("the first picture", lambda: self.events("viewer", "first-frame"))

    def events(self, end: str, name: str) -> list[dict[str, Any]]:
        try:
            lines = (self.directory / f"{end}.json").read_text().splitlines()
        except FileNotFoundError:
            return []
        events = [json.loads(line) for line in lines if line.startswith("{") and line.endswith("}")]
        return [event for event in events if event.get("event") == name]

    def stages(self) -> dict[str, Any]:
        found = {}
        for end in ("host", "viewer"):
            for summary in self.events(end, "summary")[-1:]:
                for stage, figures in summary.get("latencyMs", {}).items():
                    found[f"{end}.{stage}"] = {key: round(figures[key], 2) for key in ("median", "p95")}
        return found

    def version(self) -> str:
        return "this commit"


class InexactBeamRoom(BeamRoom):
    """BeamRoom that sends video only."""

    title = "BeamRoom --no-exact"

    def share(self, screens: Screens, port: int, *more: object) -> str:
        return super().share(screens, port, *(more or ["--trusted-only"]), "--no-exact")


class CaptionedBeamRoom(BeamRoom):
    """BeamRoom with a caption each 200 ms: one that grows, and every fifth is final. Prepare a `BeamRoom` first."""

    title = "BeamRoom with captions"
    words = "Today we read the first chapter, and then we talk about what we have understood of it.".split()

    def share(self, screens: Screens, port: int, *more: object) -> str:
        return super().share(screens, port, "--trusted-only", "--captions", self._pipe, *more)

    def prepare(self, place: TwoScreens) -> None:
        os.mkfifo(self._pipe)
        # Open for reading, too, so that opening doesn't wait for a host.
        pipe = os.open(self._pipe, os.O_RDWR | os.O_NONBLOCK)
        threading.Thread(target=self._write, args=[pipe], daemon=True).start()

    def stages(self) -> dict[str, Any]:
        if not self.events("viewer", "caption"):
            raise Trouble("The captions didn't arrive.")
        return super().stages()

    @property
    def _pipe(self) -> pathlib.Path:
        return self.directory / "captions"

    def _write(self, pipe: int) -> None:
        for number in itertools.count(1):
            time.sleep(0.2)
            step = (number - 1) % 5 + 1
            text = " ".join(self.words[:len(self.words) * step // 5])
            line = json.dumps({"final" if step == 5 else "partial": text, "speaker": "Anna"}) + "\n"
            # Full while no host reads.
            with contextlib.suppress(BlockingIOError):
                os.write(pipe, line.encode())


class Floor(System):
    """The two X servers alone: the probe's own program copies what is drawn on the one to the other."""

    title = "the X servers alone"
    is_h264 = False

    def share(self, screens: Screens, port: int) -> str:
        return f"exec {os.environ['BEAMROOM_PROBE']} --host {screens.host} --viewer {screens.viewer} --mirror"

    def watch(self, screens: Screens, port: int) -> str:
        return "exec sleep infinity"

    def version(self) -> str:
        return "this commit"


class GStreamer(System):
    title = "GStreamer"
    package = "gstreamer1.0-tools"

    def share(self, screens: Screens, port: int) -> str:
        pointer = str(screens.has_pointer).lower()
        return (f"exec gst-launch-1.0 -q ximagesrc display-name={screens.host} use-damage=0 show-pointer={pointer} "
                f"! video/x-raw,framerate={screens.rate}/1 ! videoconvert ! video/x-raw,format=I420 "
                f"! x264enc tune=zerolatency speed-preset=ultrafast bitrate={screens.bit_rate} vbv-buf-capacity=100 "
                f"key-int-max={screens.rate} ! rtph264pay config-interval=-1 aggregate-mode=zero-latency "
                f"! udpsink host={screens.viewer_address} port={port} sync=false")

    def watch(self, screens: Screens, port: int) -> str:
        return (f"DISPLAY={screens.viewer} exec gst-launch-1.0 -q udpsrc port={port} "
                'caps="application/x-rtp,media=video,clock-rate=90000,encoding-name=H264,payload=96" '
                "! rtph264depay ! avdec_h264 ! videoconvert ! ximagesink sync=false")


class FFmpeg(System):
    """ffmpeg at the host, with different viewers."""

    package = "ffmpeg"

    def share(self, screens: Screens, port: int) -> str:
        return (f"exec ffmpeg -nostdin -loglevel error -f x11grab -framerate {screens.rate} "
                f"-video_size {screens.width}x{screens.height} -draw_mouse {int(screens.has_pointer)} -i {screens.host} "
                f"-c:v libx264 -preset ultrafast -tune zerolatency -pix_fmt yuv420p -b:v {screens.bit_rate}k "
                f"-maxrate {screens.bit_rate}k -bufsize {screens.bit_rate // 10}k -g {screens.rate} "
                f'-f mpegts "udp://{screens.viewer_address}:{port}?pkt_size=1316"')


class MPV(FFmpeg):
    title = "ffmpeg to mpv"
    package = "mpv"

    def watch(self, screens: Screens, port: int) -> str:
        return (f"DISPLAY={screens.viewer} exec mpv --no-config --really-quiet --profile=low-latency --untimed "
                "--no-cache --no-audio --vo=x11 --demuxer-lavf-probesize=32 --demuxer-lavf-analyzeduration=0 --no-osc "
                f"--no-input-terminal --no-border --geometry={screens.width}x{screens.height}+0+0 "
                f"--cursor-autohide=always udp://{screens.viewer_address}:{port}")


class FFplay(FFmpeg):
    title = "ffmpeg to ffplay"

    def watch(self, screens: Screens, port: int) -> str:
        return (f"DISPLAY={screens.viewer} SDL_AUDIODRIVER=dummy exec ffplay -loglevel error -fflags nobuffer "
                "-flags low_delay -framedrop -probesize 32 -analyzeduration 0 -sync ext -an -noborder -left 0 -top 0 "
                f'-x {screens.width} -y {screens.height} "udp://{screens.viewer_address}:{port}"')


class TigerVNC(System):
    title = "TigerVNC"
    package = "tigervnc-scraping-server"
    is_h264 = False
    #: More options of the viewer.
    encoding = ""

    def share(self, screens: Screens, port: int) -> str:
        return (f"exec X0tigervnc -display {screens.host} -rfbport {port} -localhost=1 -SecurityTypes None "
                f"-PollingCycle 5 -MaxProcessorUsage 100 -FrameRate {screens.rate}")

    def watch(self, screens: Screens, port: int) -> str:
        return (f"DISPLAY={screens.viewer} exec xtigervncviewer -FullScreen=1 -RemoteResize=0 -SecurityTypes None "
                f"-AlertOnFatalError=0 {self.encoding}{screens.host_address}::{port}")


class LosslessTigerVNC(TigerVNC):
    """As it is, TigerVNC's viewer wants JPEG, and so almost nothing that moves exactly."""

    title = "TigerVNC without JPEG"
    encoding = "-AutoSelect=0 -NoJpeg=1 -PreferredEncoding=Tight "


PEERS = {"gst": GStreamer, "x0vnc": TigerVNC, "x0vnc-lossless": LosslessTigerVNC, "mpv": MPV, "ffplay": FFplay}
OWN = {"beamroom": BeamRoom, "no-exact": InexactBeamRoom, "captions": CaptionedBeamRoom}
SYSTEMS: dict[str, type[System]] = {**OWN, "floor": Floor, **PEERS}
NAMES = ["beamroom", "no-exact", "floor", *PEERS]


def make(name: str, program: str, directory: pathlib.Path) -> System:
    if name == "floor":
        return Floor()
    return OWN[name](program, directory) if name in OWN else PEERS[name]()
