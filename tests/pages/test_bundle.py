"""The modules of the pages follow the rules that let them be joined into one script."""

import re
from collections import defaultdict
from pathlib import Path

import pytest

import lowland.pages
from lowland.pages import bundle
from lowland.plots.style import COLORS

PAGES = Path(lowland.pages.__file__).parent
MODULES = sorted(path.relative_to(PAGES).as_posix() for path in PAGES.rglob("*.js"))


@pytest.mark.parametrize("name", MODULES)
def test_a_module_imports_by_name_and_exports_declarations(name):
    text = bundle.page_text(name)
    left = bundle.EXPORT.sub("", bundle.IMPORT.sub("", text))
    assert not re.search(r"^\s*(import|export)\b", left, re.MULTILINE)
    assert not [names for names, _ in bundle.IMPORT.findall(text) if " as " in names]
    for names, path in bundle.IMPORT.findall(text):
        other = bundle.imported(name)[[p for _, p in bundle.IMPORT.findall(text)].index(path)]
        exported = re.findall(
            r"^export (?:async )?(?:function\*?|class|const|let) (\w+)", bundle.page_text(other), re.MULTILINE
        )
        assert {part.strip() for part in names.split(",") if part.strip()} <= set(exported)


def test_no_name_is_declared_twice_at_the_top_level():
    found = defaultdict(list)
    for name in MODULES:
        for declared in bundle.declared(name):
            found[declared].append(name)
    assert not {declared: names for declared, names in found.items() if len(names) > 1}


def test_a_script_has_each_module_once_after_those_it_imports():
    names = bundle.modules("view/view.js")
    assert names[-1] == "view/view.js"
    assert len(set(names)) == len(names)
    for at, name in enumerate(names):
        assert set(bundle.imported(name)) <= set(names[:at])
    text = bundle.script("view/view.js", last="window.made = createView;")
    assert not re.search(r"^(import|export)\b", text, re.MULTILINE)
    assert text.rstrip().endswith("window.made = createView;\n})();")
    assert "/** @type" in bundle.page_text("view/view.js")
    assert not re.search(r"^\s*/\*\*.*\*/$", text, re.MULTILINE)  # the types are left out


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        ({"a.js": 'import { b } from "./b.js";\n', "b.js": 'import { a } from "./a.js";\n'}, "imports itself"),
        ({"a.js": "export default 1;\n"}, "export default"),
        ({"a.js": 'import * as b from "./b.js";\n'}, "import"),
    ],
)
def test_what_cannot_be_joined_is_refused(monkeypatch, texts, said):
    monkeypatch.setattr(bundle, "page_text", texts.__getitem__)
    with pytest.raises(ValueError, match=said):
        bundle.script("a.js")


def test_no_text_is_parsed_as_html():
    for name in MODULES:
        assert not re.search(
            r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function", bundle.page_text(name)
        ), name


def test_the_colors_are_those_of_the_figures():
    listed = re.search(r"export const COLORS = \[([^\]]*)\]", bundle.page_text("view/colors.js"))[1]
    assert tuple(re.findall(r"#\w{6}", listed)) == COLORS
