"""Writes every drawing into docs/drawings."""

import sys
from pathlib import Path

from tools import ROOT
from tools.site.drawings import attention, recurrent

FOLDER = ROOT / "docs" / "drawings"
DRAWINGS = {
    **{
        name: getattr(recurrent, name)
        for name in (
            "birnn",
            "lstm",
            "gru",
            "encoder_decoder",
            "seq2seq",
            "beam_search",
        )
    },
    **{
        name: getattr(attention, name)
        for name in (
            "bahdanau luong_global luong_local input_feeding lstmn show_attend_tell "
            "transformer multi_head query_key_value attention_slots"
        ).split()
    },
}


def main(folder: Path = FOLDER) -> int:
    folder.mkdir(parents=True, exist_ok=True)
    for name, draw in DRAWINGS.items():
        (folder / f"{name}.drawing.svg").write_text(draw().svg(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
