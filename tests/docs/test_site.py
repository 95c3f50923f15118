"""The site builds without a warning, its links lead somewhere, it fetches nothing."""

import functools
import http.server
import re
import shutil
import subprocess
import sys
import threading
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import nbformat
import pytest

pytestmark = [pytest.mark.long, pytest.mark.backend_free]

ROOT = Path(__file__).resolve().parents[2]
BROWSER = shutil.which("chromium") or shutil.which("google-chrome")
# Relations of <link> that only tell where something is: a browser fetches no such page.
TOLD = {"canonical", "index", "search", "next", "prev", "author", "copyright"}


class Page(HTMLParser):
    """The anchors, links and fetched files of a page."""

    def __init__(self, text):
        super().__init__()
        self.anchors, self.links, self.fetched = set(), set(), set()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.anchors |= {given[name] for name in ("id", "name") if given.get(name)}
        if tag == "a" and "href" in given:
            self.links.add(given["href"])
        elif tag == "link" and not TOLD & set((given.get("rel") or "").split()):
            self.fetched.add(given["href"])
        self.fetched |= {given[n] for n in ("src", "srcset", "data") if given.get(n)}


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    for language, place in (("en", "html"), ("zh_CN", "html/zh")):
        command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-d"]
        command += [folder / language, "-D", f"language={language}"]
        command += [ROOT / "docs", folder / place]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    return folder / "html"


@pytest.fixture(scope="module")
def pages(site):
    paths = [p for p in site.rglob("*.html") if "_static" not in p.parts]  # templates
    return {path: Page(path.read_text("utf-8")) for path in paths}


@pytest.fixture(scope="module")
def browse(site):
    """Returns a function of a page's address to what a browser makes of the page."""
    if BROWSER is None:
        pytest.skip("needs Chromium or Chrome")
    handler = functools.partial(
        http.server.SimpleHTTPRequestHandler, directory=str(site)
    )
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()

    def dump(address):
        command = [BROWSER, "--headless", "--no-sandbox", "--disable-gpu"]
        command += ["--virtual-time-budget=20000", "--dump-dom"]
        command.append(f"http://127.0.0.1:{server.server_port}/{address}")
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        return done.stdout

    yield dump
    server.shutdown()


def is_external(target):
    parts = urlsplit(target)
    return bool(parts.netloc) or parts.scheme in ("http", "https")


def test_every_link_within_the_site_leads_to_a_page_and_a_place(pages):
    broken = []
    for page, content in pages.items():
        for target in content.links | content.fetched:
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                continue
            path = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            anchor = unquote(parts.fragment)
            if not path.is_file():
                broken.append((page.name, target))
            elif anchor and path in pages and anchor not in pages[path].anchors:
                broken.append((page.name, target))
    assert len(pages) > 40
    assert not broken


def test_nothing_is_fetched_from_elsewhere(site, pages):
    fetched = {
        (page.name, target)
        for page, content in pages.items()
        for target in content.fetched
        if is_external(target)
    }
    for sheet in site.rglob("*.css"):
        text = sheet.read_text("utf-8")
        for target in re.findall(r"(?:@import|url\()\s*['\"]?([^'\")\s;]+)", text):
            if is_external(target):
                fetched.add((sheet.name, target))
    assert not fetched


def test_formulas_are_typeset_by_a_file_of_the_site(site, pages):
    scripts = {
        Path(t).name.partition("?")[0]
        for t in pages[site / "papers/luong.html"].fetched
    }
    assert "tex-svg.js" in scripts
    assert (site / "_static" / "tex-svg.js").stat().st_size > 1_000_000


def test_the_search_index_has_the_pages_and_the_api(site):
    index = (site / "searchindex.js").read_text("utf-8")
    for name in ("papers/luong", "generated/cards/luong_local", "AdditiveAttention"):
        assert name in index


def test_nothing_of_markdown_is_left_in_the_api_reference(site):
    for page in (site / "api").glob("*.html"):
        text = re.sub(r"<pre>.*?</pre>", "", page.read_text("utf-8"), flags=re.DOTALL)
        assert "```" not in text, page.name
        assert "&gt;&gt;&gt;" not in text, page.name


def test_a_class_is_linked_where_a_docstring_names_it(site):
    text = (site / "api/zoo.layers.html").read_text("utf-8")
    link = '<a class="reference internal" href="#zoo.layers.AttentionDecoder"><code'
    assert f"faster inside {link}" in text.replace("\n", " ")


def test_a_card_and_the_source_are_linked_from_the_papers(pages, site):
    links = pages[site / "papers/luong.html"].links
    assert "../generated/cards/luong_local.html" in links
    assert "../_modules/zoo/layers/scores.html" in links
    assert any(
        link.startswith("../api/zoo.models.html#zoo.models.Luong") for link in links
    )


def test_a_paper_shows_what_its_class_says_of_it_but_no_arguments(site):
    text = (site / "papers/luong.html").read_text("utf-8")
    assert "p_t = S · sigmoid" in text
    assert "Call arguments" not in text
    assert "max_source_length" not in text
    assert "<img" in text  # what the presets attend to


def test_each_lesson_is_offered_as_a_notebook(pages, site):
    lessons = sorted((ROOT / "docs" / "lessons").glob("[0-9]*.md"))
    assert len(lessons) >= 10
    for path in lessons:
        links = pages[site / "lessons" / f"{path.stem}.html"].links
        assert f"../_sources/lessons/{path.stem}.ipynb" in links
        nbformat.read(site / "_sources" / "lessons" / f"{path.stem}.ipynb", 4)
    for other in ("index.html", "papers/luong.html"):
        assert not any(link.endswith(".ipynb") for link in pages[site / other].links)


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("input+feeding", "lessons/07_input_feeding.html"),
        ("AdditiveAttention", "api/zoo.layers.html"),
        ("luong_local", "generated/cards/luong_local.html"),
    ],
)
def test_the_search_finds_pages_in_a_browser(browse, query, found):
    results = browse(f"search.html?q={query}").partition('id="search-results"')[2]
    assert f'href="{found}' in results


def test_each_page_leads_to_itself_in_the_other_language(pages, site):
    assert "../zh/papers/luong.html" in pages[site / "papers/luong.html"].links
    page = site / "zh/papers/luong.html"
    assert "../../papers/luong.html" in pages[page].links
    assert "注意力" in page.read_text("utf-8")


def test_formulas_are_drawn_in_a_browser(browse):
    assert browse("papers/luong.html").count("<mjx-container") > 10
