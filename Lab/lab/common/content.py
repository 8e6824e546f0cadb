"""The content of the screens: a still desktop and a page of code that scrolls, the same in every run."""

import pathlib
import random
from typing import Any

from PIL import Image, ImageDraw, ImageFont

FONTS = "/usr/share/fonts/truetype/dejavu/"
WORDS = ("the of capture frame encoder int return static void if else for while packet queue viewer latency window "
         "text colour and buffer size 0x1f 42 const char struct socket jitter error").split()
DARK = ((30, 30, 46), [(205, 214, 244), (166, 227, 161), (250, 179, 135), (137, 180, 250), (243, 139, 168)])
LIGHT = ((252, 252, 250), [(30, 30, 30), (0, 0, 160), (140, 0, 0), (0, 110, 0)])


class Painter:
    def __init__(self, image: Image.Image, seed: int) -> None:
        self.draw = ImageDraw.Draw(image)
        self.random = random.Random(seed)
        self.mono = ImageFont.truetype(FONTS + "DejaVuSansMono.ttf", 14)
        self.sans = ImageFont.truetype(FONTS + "DejaVuSans.ttf", 13)
        self.bold = ImageFont.truetype(FONTS + "DejaVuSans-Bold.ttf", 13)

    def words(self, length: int) -> str:
        text = ""
        while len(text) < length:
            text += self.random.choice(WORDS) + self.random.choice([" ", " ", "_", "(", ") ", ", ", "; ", " = "])
        return text[:length]

    def code(self, x: int, y: int, width: int, height: int, colours: Any) -> None:
        background, inks = colours
        self.draw.rectangle([x, y, x + width - 1, y + height - 1], fill=background)
        for top in range(y + 4, y + height - 18, 18):
            left = x + 8 + 24 * self.random.randrange(4)
            for _ in range(self.random.randrange(1, 5)):
                text = self.words(self.random.randrange(4, 24))
                length = self.draw.textlength(text, font=self.mono)
                if left + length > x + width - 8:
                    break
                self.draw.text((left, top), text, font=self.mono, fill=self.random.choice(inks))
                left += length + 8

    def window(self, x: int, y: int, width: int, height: int, title: str, colours: Any) -> None:
        self.draw.rectangle([x - 1, y - 1, x + width, y + height], outline=(90, 90, 100))
        self.draw.rectangle([x, y, x + width - 1, y + 25], fill=(60, 63, 80))
        self.draw.text((x + 8, y + 5), title, font=self.bold, fill=(240, 240, 240))
        for index, colour in enumerate([(237, 106, 94), (245, 191, 79), (98, 197, 84)]):
            left = x + width - 24 - 20 * index
            self.draw.ellipse([left, y + 6, left + 12, y + 18], fill=colour)
        self.code(x, y + 26, width, height - 26, colours)


def desktop(width: int, height: int) -> Image.Image:
    row = [(40 + 90 * x // width, 120 + 60 * (width - x) // width) for x in range(width)]
    image = Image.new("RGB", (width, height))
    image.putdata([(red, 60 + 60 * y // height, blue) for y in range(height) for red, blue in row])
    painter = Painter(image, 5)
    painter.draw.rectangle([0, 0, width, 27], fill=(32, 32, 36))
    painter.draw.text((10, 6), "Applications   Places   File  Edit  View                                12:34",
                      font=painter.sans, fill=(230, 230, 230))
    painter.window(40, 260, width * 45 // 100, height - 330, "editor - main.c", DARK)
    painter.window(width // 2 + 20, 300, width * 46 // 100, height - 380, "browser - documentation", LIGHT)
    for index in range(60):
        left = width // 2 + 40 + index % 12 * 34
        colour = tuple(painter.random.randrange(256) for _ in range(3))
        painter.draw.rectangle([left, height - 60, left + 26, height - 34], fill=colour)
    return image


def page(width: int, height: int) -> Image.Image:
    """A page four screens tall, half of it light and half of it dark."""
    image = Image.new("RGB", (width, height * 4))
    painter = Painter(image, 6)
    painter.code(0, 0, width // 2, height * 4, LIGHT)
    painter.code(width // 2, 0, width - width // 2, height * 4, DARK)
    return image


#: A letter's cell and the size of `terminal`, as the probe knows them (probes/screen/scenes.c).
CELL = (9, 17)
TERMINAL = (800, 256 * CELL[1])


def terminal() -> Image.Image:
    """A long page of text, each letter in a cell of its own."""
    background, inks = DARK
    image = Image.new("RGB", TERMINAL, background)
    painter = Painter(image, 7)
    for top in range(0, TERMINAL[1], CELL[1]):
        left, ink = 0, inks[0]
        for letter in painter.words(painter.random.randrange(20, TERMINAL[0] // CELL[0])):
            if letter == " ":
                ink = painter.random.choice(inks)
            painter.draw.text((left, top), letter, font=painter.mono, fill=ink)
            left += CELL[0]
    return image


def write(directory: pathlib.Path, width: int, height: int) -> None:
    desktop(width, height).save(f"{directory}/still.ppm")
    page(width, height).save(f"{directory}/scroll.ppm")


def write_exact(directory: pathlib.Path) -> None:
    """What the contents of `lab.bench.exactness` need beside these."""
    terminal().save(f"{directory}/terminal.ppm")
