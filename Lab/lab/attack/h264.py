"""The attacker's H.264: small valid pictures, and pictures that take much memory to decode."""

import dataclasses
import functools
import struct
import subprocess
from collections.abc import Iterator


@dataclasses.dataclass
class Picture:
    """An access unit: parameter sets (of a keyframe only), and the other NAL units with their lengths in front."""
    config: bytes
    data: bytes
    width: int
    height: int


def nal_units(stream: bytes) -> Iterator[bytes]:
    """The NAL units of Annex B bytes, without start codes."""
    starts, at = [], stream.find(b"\0\0\1")
    while at >= 0:
        starts.append(at)
        at = stream.find(b"\0\0\1", at + 3)
    for start, end in zip(starts, starts[1:] + [len(stream)]):
        yield stream[start + 3:end].rstrip(b"\0")


def pictures(stream: bytes, width: int, height: int) -> list[Picture]:
    """The access units of Annex B bytes that have one slice in each picture."""
    found, sps, pps, rest = [], [], [], b""
    for unit in nal_units(stream):
        kind = unit[0] & 31
        if kind == 7:
            sps.append(unit)
        elif kind == 8:
            pps.append(unit)
        elif kind in (1, 5):
            config = b""
            if kind == 5:
                config = bytes([len(sps), len(pps)]) + b"".join(struct.pack(">H", len(s)) + s for s in sps + pps)
            found.append(Picture(config, rest + struct.pack(">I", len(unit)) + unit, width, height))
            sps, pps, rest = ([], [], b"") if kind == 5 else (sps, pps, b"")
        elif kind != 9:
            rest += struct.pack(">I", len(unit)) + unit
    return found


@functools.cache
def encoded(size: str, count: int, source: str = "testsrc=", references: int = 1, more: str = "") -> list[Picture]:
    """`count` pictures of ffmpeg's test source, the first of them a keyframe."""
    width, height = (int(side) for side in size.split("x"))
    parameters = (f"ref={references}:bframes=0:keyint=infinite:scenecut=0:slices=1:sliced-threads=0:aud=0:"
                  f"repeat-headers=1{more}")
    command = ["ffmpeg", "-v", "error", "-f", "lavfi", "-i", f"{source}size={size}:rate=30", "-frames:v",
               str(count), "-pix_fmt", "yuv420p", "-c:v", "libx264", "-preset", "ultrafast", "-qp", "40",
               "-x264-params", parameters, "-f", "h264", "-"]
    return pictures(subprocess.run(command, check=True, capture_output=True).stdout, width, height)


def small(count: int = 30) -> list[Picture]:
    return encoded("320x240", count)


def large(count: int = 20) -> list[Picture]:
    """8192 × 4352 with 16 references: some 100 kB. Each decoded picture takes 53 MB."""
    return encoded("8192x4352", count, "color=c=gray:", 16, ":level=6.2")
