"""Makes `docs/images/crash-and-resume.gif` from pictures that the browser tests took.

Its one rule: each frame shows a picture as it was taken; only the words beside it are
added. The file says in its comment which pictures it was made of.
"""

import hashlib
from dataclasses import dataclass
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

IMAGES = Path(__file__).resolve().parents[1] / "docs" / "images"
MOVING = IMAGES / "crash-and-resume.gif"
SIZE = (560, 490)
LEFT = 290
LONG_MS = 2600


@dataclass(frozen=True, slots=True)
class Frame:
    """One picture, and what is said of it."""

    picture: str
    """Empty: nothing is there to be seen."""
    title: str
    words: str


FRAMES = (
    Frame(
        "sidebar-running-light.png", "1. A pipeline runs", "fetch and clean\nare done"
    ),
    Frame("", "2. kill -9", "the kernel is gone,\nwith all its values"),
    Frame(
        "sidebar-resume-point-light.png",
        "3. A new kernel",
        "two steps are locked;\nit goes on at train",
    ),
    Frame(
        "sidebar-resumed-light.png", "4. Resume", "fetch and clean\ndid not run again"
    ),
)


def sources() -> str:
    """Return the digest of the pictures that it is made of."""
    names = [frame.picture for frame in FRAMES if frame.picture]
    digest = hashlib.sha256()
    for name in names:
        digest.update((IMAGES / name).read_bytes())
    return digest.hexdigest()


def drawn(frame: Frame) -> Image.Image:
    """Return one frame."""
    canvas = Image.new("RGB", SIZE, "white")
    draw = ImageDraw.Draw(canvas)
    draw.text((20, 40), frame.title, "#212121", ImageFont.load_default(24))
    draw.text((20, 90), frame.words, "#424242", ImageFont.load_default(18), spacing=8)
    if frame.picture:
        with Image.open(IMAGES / frame.picture) as picture:
            canvas.paste(picture.convert("RGB"), (LEFT, 5))
    else:
        draw.rectangle((LEFT, 5, LEFT + 249, SIZE[1] - 6), fill="#eeeeee")
    return canvas.quantize(64)


def main() -> None:
    """Write the moving picture."""
    first, *others = [drawn(frame) for frame in FRAMES]
    first.save(
        MOVING,
        save_all=True,
        append_images=others,
        duration=LONG_MS,
        loop=0,
        comment=sources().encode(),
    )


if __name__ == "__main__":
    main()
