"""Makes docs/explorer.webp, the explorer's page in motion.

    zoo explore luong_local bahdanau transformer --export page
    python -m tools.explorer_film page docs/explorer.webp

It needs Node with the packages of explorer/, Chromium, and Pillow, which the extra
`plot` brings.
"""

import argparse
import json
import subprocess
import tempfile
from pathlib import Path

from PIL import Image

from tools import ROOT

WIDTH = 840  # pixels


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("page", type=Path)
    parser.add_argument("picture", type=Path)
    arguments = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as folder:
        command = ["node", "tests/film.mjs", arguments.page.resolve(), folder]
        subprocess.run(list(map(str, command)), cwd=ROOT / "explorer", check=True)
        frames = json.loads((Path(folder) / "frames.json").read_text("utf-8"))
        images = [small(Image.open(Path(folder) / name)) for name, _ in frames]
        images[0].save(
            arguments.picture,
            save_all=True,
            append_images=images[1:],
            duration=[milliseconds for _, milliseconds in frames],
            loop=0,
            quality=70,
            method=6,
            minimize_size=True,
        )
    print(f"{arguments.picture.stat().st_size / 1e6:.2f} MB, {len(images)} pictures")


def small(image):
    """Returns an image of `WIDTH`."""
    height = round(image.height * WIDTH / image.width)
    return image.convert("RGB").resize((WIDTH, height), Image.Resampling.LANCZOS)


if __name__ == "__main__":
    main()
