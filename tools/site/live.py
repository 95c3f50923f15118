"""The attention explorer in pages of the site, where `make docs` has exported it."""

from pathlib import Path

FOLDER = "live"  # beside the English pages
# Page -> what the explorer shows there, as its address says it.
SHOWN = {
    "explorer": "",
    "index": "",
    "lessons/05_luong_scores": "",
    "lessons/06_local_attention": "step=4",
    "lessons/12_beam_search": "tab=beam&beam=4",
    "map": "",
}
PLACE = '<div id="explorer"></div>'  # in pages without it, the end
FRAME = (
    '<iframe class="live" title="The attention explorer" loading="lazy" '
    'src="{root}live/index.html#models=luong_local&amp;lang={language}&amp;{shown}">'
    "</iframe>"
)


def embed(app, pagename, templatename, context, doctree):
    """Puts the explorer into a page of `SHOWN`; for Sphinx's `html-page-context`."""
    chinese = app.config.language == "zh_CN"
    site = Path(app.outdir).parent if chinese else Path(app.outdir)
    if pagename in SHOWN and (site / FOLDER / "index.html").is_file():
        frame = FRAME.format(
            root=context["content_root"] + ("../" if chinese else ""),
            language="zh" if chinese else "en",
            shown=SHOWN[pagename].replace("&", "&amp;"),
        )
        body, _, rest = context["body"].partition(PLACE)
        context["body"] = body + frame + rest
