"""The built documentation site: links, ten pages and the search in a browser. ``make site`` builds it."""

import functools
import http.server
import re
import threading
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from tests.study.report.browser import fresh_browser

SITE = Path(__file__).parents[2] / "site" / "html"
pytestmark = pytest.mark.skipif(not (SITE / "search.html").exists(), reason="make site builds the site")

TEN = (
    "index.html",
    "getting-started.html",
    "tutorials/first-map.html",
    "tutorials/choosing-a-method.html",
    "how-to/perplexity-and-neighbors.html",
    "can-i-trust-this-map.html",
    "methods/tsne.html",
    "api/generated/lowland.UMAP.html",
    "benchmarks.html",
    "about/faq.html",
)


class Page(HTMLParser):
    """The links and the anchors of a page."""

    def __init__(self, path):
        super().__init__()
        self.links, self.anchors = [], set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.anchors |= {found[name] for name in ("id", "name") if found.get(name)}
        self.links += [found[name] for name in ("href", "src") if found.get(name)]


page = functools.cache(Page)


def test_every_link_has_its_target():
    broken = []
    for path in sorted(SITE.rglob("*.html")):
        if path.parent.name == "_static":
            continue
        for link in page(path).links:
            parts = urlsplit(link)
            if parts.scheme or link.startswith("//"):
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            anchor = unquote(parts.fragment)
            if not target.exists() or (anchor and target.suffix == ".html" and anchor not in page(target).anchors):
                broken.append(f"{path.relative_to(SITE)}: {link}")
    assert not broken, "\n".join(broken)


def test_the_eleven_questions_are_one_click_away():
    start = set(page(SITE / "index.html").links)
    pages = {f"how-to/{path.stem}.html" for path in (SITE / "how-to").glob("*.html") if path.stem != "index"}
    assert len(pages) == 10
    assert pages | {"can-i-trust-this-map.html"} <= start


@pytest.fixture(scope="module")
def address():
    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    handler = functools.partial(Quiet, directory=str(SITE))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture
def browser(address):
    browser = fresh_browser()
    yield browser
    outside = [url for url in browser.requests if not url.startswith((address, "data:", "blob:", "about:"))]
    assert not outside, "the site loads nothing from other servers"
    assert not browser.problems


def visit(browser, url):
    browser.call("Page.navigate", url=url)
    browser.until(f"location.href === {url!r} && document.readyState === 'complete'")


@pytest.mark.parametrize("name", TEN)
def test_pages_open(browser, address, name):
    visit(browser, f"{address}/{name}")
    assert browser.run("document.querySelector('main h1').textContent.length > 1")
    assert browser.run("[...document.images].every((image) => image.complete && image.naturalWidth > 0)")
    assert browser.run("document.documentElement.scrollWidth <= innerWidth"), "wider than the window"


def test_mathematics_is_set_without_a_connection(browser, address):
    visit(browser, f"{address}/methods/pca.html")
    browser.until("document.querySelectorAll('mjx-container').length > 20")
    assert not browser.run("document.querySelector('mjx-merror')")


def test_light_and_dark(browser, address):
    seen = set()
    for mode in ("light", "dark"):
        visit(browser, f"{address}/index.html?{mode}")
        browser.run(f"document.documentElement.dataset.theme = {mode!r}")
        seen.add(browser.run("getComputedStyle(document.body).backgroundColor"))
    assert len(seen) == 2


def test_the_reference_fits_a_phone(browser, address):
    browser.size(400, 800)
    visit(browser, f"{address}/api/index.html")
    cells = "[...document.querySelectorAll('table.autosummary td')]"
    assert browser.run(f"Math.max(...{cells}.map((cell) => cell.getBoundingClientRect().right))") <= 400


def test_the_report_in_a_tutorial_works(browser, address):
    visit(browser, f"{address}/tutorials/first-map.html")
    browser.until("document.querySelector('iframe')?.contentDocument?.documentElement.dataset.ready")
    assert browser.run("document.querySelector('iframe').contentDocument.querySelectorAll('canvas').length") >= 3


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("perplexity", "how-to/perplexity-and-neighbors.html"),
        ("trustworthiness", "api/generated/lowland.quality.trustworthiness.html"),
        ("missing values", "how-to/categories-and-missing-values.html"),
        ("gpu", "how-to/gpu.html"),
        ("large dataset", "how-to/larger-than-memory.html"),
        ("predict new data", "how-to/new-samples.html"),
        ("categorical data", "how-to/categories-and-missing-values.html"),
        ("umap vs t-sne", "about/faq.html"),
        ("reproducible", "about/faq.html"),
    ],
)
def test_search(browser, address, words, expected):
    visit(browser, f"{address}/search.html?q={words.replace(' ', '+')}")
    browser.until("document.querySelectorAll('#search-results li a').length > 2")
    browser.until(f"[...document.querySelectorAll('#search-results li a')].some((a) => a.href.includes({expected!r}))")
    results = browser.run("document.querySelector('#search-results').innerHTML")
    assert not re.search("did not match|develop/benchmarks", results)  # the list of jobs has all words
