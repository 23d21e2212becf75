"""The documentation site: ``make site`` builds it from the Markdown pages of this folder, which GitHub also shows."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import lowland

project = "Lowland"
author = "The Lowland authors"
copyright = "The Lowland authors"
version = release = lowland.__version__

extensions = [
    "myst_nb",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx-mathjax-offline",
    "sphinx_copybutton",
    "sphinx_design",
]
exclude_patterns = ["theme", "**/__pycache__"]
templates_path = ["theme/templates"]

# --- pages ---

myst_enable_extensions = ["dollarmath", "amsmath", "colon_fence"]
myst_heading_anchors = 4  # the anchors that GitHub gives to headings
nb_execution_mode = "cache"  # a tutorial runs when it changed
nb_execution_in_temp = True
nb_execution_timeout = 300
nb_execution_raise_on_error = True
nb_ipywidgets_js: dict[str, Any] = {}  # the site loads nothing from other servers
mathjax_path = "mathjax/tex-chtml.js"

# --- reference ---

autosummary_generate = True
autodoc_typehints = "none"  # the docstrings name the types
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
toc_object_entries_show_parents = "hide"

# --- appearance ---

html_theme = "pydata_sphinx_theme"
html_title = "Lowland"
html_static_path = ["theme/static"]
html_css_files = ["site.css"]
html_copy_source = False
html_favicon = "theme/static/favicon.svg"
html_context = {"default_mode": "auto"}  # light or dark, as the reader's system
html_show_sphinx = False
html_sidebars: dict[str, list[str]] = {"getting-started": []}  # a section of one page
html_theme_options = {
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "header_links_before_dropdown": 8,
    "navbar_align": "left",
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}


HERE = Path(__file__).parent
OUTSIDE = {"develop/contributing": "CONTRIBUTING.md", "about/changelog": "CHANGELOG.md"}  # pages of the site: files


def on_this_site(app: Any, name: str, source: list[str]) -> None:
    """Point links to files that GitHub shows and the site does not build at the pages that the site has for them."""
    if name == "develop/benchmarks":  # its hundreds of jobs have all words, and would be found for all of them
        source[0] = f"---\nnosearch: true\n---\n\n{source[0]}"
    if name in OUTSIDE:
        text = (HERE.parent / OUTSIDE[name]).read_text(encoding="utf-8")
        source[0] = text.replace("](docs/", "](../").replace("](CHANGELOG.md", "](../../CHANGELOG.md")
    up = "../" * name.count("/")
    for written, page in {
        r"(?:\.\./)+CHANGELOG\.md": "about/changelog.md",
        r"(?:\.\./)+CONTRIBUTING\.md": "develop/contributing.md",
        r"(?:\.\./)+README\.md": "index.md",
    }.items():
        source[0] = re.sub(rf"\]\({written}\)", f"]({up}{page})", source[0])
    if name.startswith("methods/"):  # GitHub has no page for each class
        title = source[0].partition("\n")[0].removeprefix("# ")
        source[0] = source[0].replace("(../api/index.md)", f"(../api/generated/lowland.{title}.rst)")
    script = r"### \1\n\n:::{dropdown} The script\n```{literalinclude} \2\n```\n:::"
    source[0] = re.sub(r"^### \[(.+)\]\((\.\./examples/\w+\.py)\)$", script, source[0], flags=re.M)


def as_restructured_text(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Escape what a docstring writes as mathematics and reStructuredText would read as markup."""
    for i, line in enumerate(lines):
        parts = re.split(r"(``.*?``|`[^`]+`|\*\w[^*]*\*)", line)
        parts[::2] = [re.sub(r"(?<!\\)([|*]|_(?!\w))", r"\\\1", part) for part in parts[::2]]
        lines[i] = "".join(parts)
    page = f"/methods/{(getattr(obj, '__module__', None) or '').rpartition('.')[2]}"
    if what == "class" and name.count(".") == 1 and (HERE / f"{page[1:]}.md").exists():
        lines[1:1] = ["", f"The mathematics, pictures and advice are on :doc:`the page of {obj.__name__} <{page}>`."]


def leave_out(app: Any, what: str, name: str, obj: Any, skip: bool, options: Any) -> bool | None:
    """Leave out what every scikit-learn estimator has: its documentation describes it."""
    return True if (getattr(obj, "__module__", None) or "").startswith("sklearn.") else None


def setup(app: Any) -> None:
    """Connect the three functions above; Sphinx calls this."""
    app.connect("autodoc-skip-member", leave_out)
    app.connect("source-read", on_this_site)
    app.connect("autodoc-process-docstring", as_restructured_text, priority=400)
