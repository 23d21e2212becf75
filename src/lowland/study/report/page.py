"""The page: template, style and script around the study. A content security policy forbids all requests."""

from __future__ import annotations

import base64
import hashlib
import json
import os
from pathlib import Path
from typing import Any

from lowland.data.write import atomic_write
from lowland.errors import FileProblem, MissingFile, ParameterError
from lowland.pages.bundle import page_text, script
from lowland.study.report.content import content
from lowland.study.result import StudyResult


def write_report(result: StudyResult, path: str | os.PathLike[str]) -> Path:
    """Write the report of a study as one HTML file that opens offline, and return its path."""
    target = Path(path)
    if target.is_dir():
        raise FileProblem(f"{str(target)!r} is a folder. Choose a file, such as {str(target / 'report.html')!r}.")
    check_name(target)
    if not target.parent.is_dir():
        raise MissingFile(
            f"The folder {target.parent} does not exist. Create it, or choose another path for the report."
        )
    text = report_html(result)
    with atomic_write(target) as path:
        path.write_text(text, encoding="utf-8", newline="\n")
    return target


def check_name(path: Path) -> None:
    """Reject a file name that is not HTML."""
    if path.suffix.lower() not in (".html", ".htm"):
        raise ParameterError(f"{str(path)!r}: the report is an HTML file. Choose a name that ends in .html.")


def report_html(result: StudyResult) -> str:
    """Return the report of a study as the text of one HTML page."""
    said, blocks = content(result)
    style, code = f"{page_text('view/view.css')}\n{page_text('report/report.css')}", script("report/page.js")
    numbers = "\n".join(
        f'<script type="text/plain" id="block-{i}">{text}</script>' for i, text in enumerate(blocks.texts)
    )
    # Only the script with this hash may run, whatever the data contains; nothing may be fetched, sent or embedded.
    policy = (
        f"default-src 'none'; script-src {_hash(code)}; style-src {_hash(style)}; img-src data:; base-uri 'none'; "
        "form-action 'none'"
    )
    page = page_text("report/report.html")
    for mark, text in (
        ("<!-- policy -->", f'<meta http-equiv="Content-Security-Policy" content="{policy}">'),
        ("<!-- style -->", f"<style>{style}</style>"),
        ("<!-- script -->", f"<script>{code}</script>"),
        ("<!-- study -->", f'<script type="application/json" id="study">{as_json(said)}</script>\n{numbers}'),
    ):  # the data comes last, so that marks inside it are not replaced
        before, _, after = page.partition(mark)
        page = f"{before}{text}{after}"
    return page


def as_json(value: Any) -> str:
    """JSON that is safe inside a page: it cannot end its element or start another."""
    text = json.dumps(value, allow_nan=False, separators=(",", ":"))  # ASCII only, so U+2028 is escaped too
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
