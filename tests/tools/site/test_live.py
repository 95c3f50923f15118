import types

import pytest

from tools.site.live import PLACE, embed

pytestmark = pytest.mark.backend_free


@pytest.mark.parametrize(
    ("language", "place", "root"), [("en", "", "../"), ("zh_CN", "zh", "../../")]
)
def test_a_lesson_has_the_explorer_where_it_was_exported(
    tmp_path, language, place, root
):
    config = types.SimpleNamespace(language=language)
    app = types.SimpleNamespace(config=config, outdir=tmp_path / place)

    def body(page, text="text"):
        context = {"body": text, "content_root": "../"}
        embed(app, page, "page.html", context, None)
        return context["body"]

    page = "lessons/12_beam_search"
    assert body(page) == "text"
    (tmp_path / "live").mkdir()
    (tmp_path / "live" / "index.html").touch()
    assert f'src="{root}live/index.html#models=luong_local' in body(page)
    assert "tab=beam&amp;beam=4" in body(page)
    assert body("lessons/14_is_it_true") == "text"
    framed = body("index", f"above{PLACE}below")
    assert framed.startswith("above<iframe") and framed.endswith("</iframe>below")
