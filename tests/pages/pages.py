"""A page with the view alone and data made in the page, for tests and timings."""

from pathlib import Path

from lowland.pages.bundle import page_text, script

HERE = Path(__file__).parent


def write_page(folder):
    """Write the page and return its path. ``lowland.synthetic({n, maps, ...})`` in it makes a view."""
    page = (HERE / "page.html").read_text(encoding="utf-8")
    code = script("view/view.js", last=(HERE / "synthetic.js").read_text(encoding="utf-8"))
    for mark, text in (("<!-- style -->", page_text("view/view.css")), ("<!-- script -->", code)):
        page = page.replace(mark, text)
    path = Path(folder) / "view.html"
    path.write_text(page, encoding="utf-8")
    return path
