"""Terms of the field: no banned term in code, docs, README or examples (see docs/glossary.md)."""

import importlib
import inspect
import io
import re
import tokenize
from pathlib import Path

import pytest

import lowland

ROOT = Path(__file__).parents[2]
FILES = [
    *sorted(p for p in (ROOT / "src").rglob("*") if p.suffix in (".py", ".js", ".html", ".css")),
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "docs").glob("*.py")),
    *sorted((ROOT / "examples").glob("*.py")),
]

PAGES = [path for path in FILES if path.suffix == ".md" and path.name != "CHANGELOG.md"]

BANNED = {  # pattern: what to write instead
    # --- unclear or archaic phrases
    r"\btold\b": "say what happens, or: reported, passed, known",
    r"\banew\b": "again",
    r"\blearnt\b": "learned",
    r"\bwhereof\b|\bthereof\b|\bwherein\b": "of which, of it, in which",
    r"\bnobody foresaw\b": "Unexpected error",
    r"\bis closed to you\b": "Permission denied",
    r"\b[Mm]end (that|the|it)\b|\bMend\b": "Fix",
    r"\bif not surely\b": "but not significantly",
    r"\bcannot hold all there is\b": "too few to preserve the structure",
    r"\bears\b": "columns, sensors",
    r"\bhas a say\b|\bhave a say\b|\bspeaks? of\b": "counts, concerns",
    r"\bknows? nothing of\b": "does not depend on",
    r"\bis no number\b|\bare no numbers?\b": "overflows float32; is not a number (NaN)",
    # --- phrases of an earlier, stiffer style
    r"\b(and )?a (\w+ )?warning says so\b|\b`?DataWarning`? says so\b": "with a warning",
    r"\bsome (hundred|ten|thousand)s?\b": "about a hundred; hundreds of",
    r"\bof (your own|yours)\b": "your own",
    r"\bwhat becomes of\b": "encoding, result",
    r"\b(tensors?|rows?|points?) that (is|are) there\b": "a CUDA tensor; the known points",
    r"\brefused with a sentence\b|\ba sentence of Lowland\b": "rejected with an error message",
    r"\bdo not read what\b": "do not over-interpret",
    r"(?<!there )\b(is|are) no (feature|table)s?\b": "is not a feature",
    r"\balso\b[^.;:]*, too\b": "also, or too",
    r"\bthe trust of\b|\btrust of every\b": "reliability, quality measure",
    # --- one term for one thing
    r"\bway back\b": "inverse transform",
    r"\blead(s|ing)? back\b": "inverse transform",
    r"\bwhole numbers?\b": "integer",
    r"\btwins?\b": "duplicate rows",
    r"\bh(a|u)ngs? (together|apart)\b": "is connected / is disconnected",
    r"\bfalls? (in|into) (\w+ )?parts\b": "has several connected components",
    r"\bone a (row|column|class|unit|component|fold)\b": "one per row",
    r"\ba line a row\b|\b(number|value|label|unit|cell) a (row|column|unit)\b": "per row",
    r"\bjudged?\b|\bjudg(es|ing|ement)\b": "evaluate",
    r"\bshares? of (the )?(variance|rows|neighbo|classes|squares|pairs)": "fraction of; explained variance ratio",
    r"\bstraight distances?\b|\bby straight lines?\b": "Euclidean distance",
    r"\b(named|named them) rightly\b|\brightly named\b": "classified correctly",
    r"\bcommonest\b": "most frequent; majority class",
    r"\bprice of (the )?codes?\b": "sparsity penalty",
    r"\bof their own\b.*\bdimension|\bdimensions?\b.*\bof their own\b": "intrinsic dimension",
    # --- American spelling
    r"neighbour": "neighbor",
    r"colour": "color",
    r"\bgrey": "gray",
    r"\bcentr(e|es|ed|ing)\b": "center",
    r"behaviour": "behavior",
    r"\bfavour": "favor",
    r"\blabell(ed|ing)\b|\bunlabelled\b": "labeled, labeling",
    r"\bmodell(ed|ing|er)\b": "modeled, modeling",
    r"\bcancell(ed|ing)\b|\btravell(ed|ing)\b|\blevell(ed|ing)\b": "one l",
    r"\btowards\b|\bbackwards\b|\bafterwards\b": "toward, backward, afterward",
    r"\banaly(se|sed|ses|sing)\b(?! of)": "analyze",
    r"(standard|normal|minim|maxim|optim|quant|initial|orthonormal|regular|general|penal|final|recogn|summar|"
    r"visual|organ|central|local|random|serial|parallel|real|equal|util|character|categor|discret|vector|synchron|"
    r"linear|emphas|critic|factor|binar|digit|symmetr|diagonal|tri-?diagonal|special|material|neutral|stabil)is"
    r"(e|ed|es|er|ers|ing|ation|ations|able)\b": "-ize, -ization",
}

BANNED_IN_PAGES = {  # in the Markdown files only: code also has places and identifiers of these names
    r"\bbeside\b": "next to, as well as",
    r"pip install .?lowland\[": 'pip install ".[extra]" from a checkout',
    r"\bsays? so\b": "reports it, states it",
    r"\bin sight\b": "visible",
    r"\bof (its|their|your|an) own\b": "its own, new, separate",
    r"\brefuse[sd]?\b": "rejects, raises an error",
}
PLAIN = r";|\b[Bb]eside\b|\bsays? so\b|\bof (its|their|your|an) own\b|\bMore of (them|it)\b"  # nor in public docstrings

ALLOWED = [  # names of other libraries, titles of papers, proper names, code
    r"``?[^`\n]*``?",  # code: what a name is called is decided elsewhere
    r"https?://\S+|doi:\S+|\]\([^)\s]+\)",  # addresses
    r"\*[A-Z][^*\n]{10,}\*",  # titles of papers
    r"standardisation\.py|standardisation\b(?=[\"'\]])",  # the name of an example
    r"\bgrey(s|_r|scale)?(?=[\"'])",  # matplotlib's names
    r"\bcolou?rs\b(?==)",
]


WORDS = {getattr(tokenize, name) for name in ("COMMENT", "STRING", "FSTRING_MIDDLE") if hasattr(tokenize, name)}


def words_of_code(text):
    """Comments and strings of Python code on their lines; names are blanked out."""
    lines = [""] * (text.count("\n") + 1)
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in WORDS:
            for number, line in enumerate(token.string.split("\n"), token.start[0] - 1):
                lines[number] += " " + line
    return "\n".join(lines)


def prose(path):
    """The lines of a file, with what is allowed blanked out."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        text = words_of_code(text)
    if path.suffix == ".md":
        text = re.sub(r"^```.*?^```", lambda block: "\n" * block.group().count("\n"), text, flags=re.M | re.S)
    for pattern in ALLOWED:
        text = re.sub(pattern, lambda found: " " * len(found.group()), text)
    return text.splitlines()


ANY = re.compile("|".join(f"(?:{pattern})" for pattern in BANNED), re.I)


def banned_in(path):
    """Every banned term of a file: line, term, what to write instead."""
    lines = prose(path)
    if not ANY.search("\n".join(lines)):
        return []
    return [
        (number, found.group(), instead)
        for number, line in enumerate(lines, 1)
        for pattern, instead in BANNED.items()
        for found in re.finditer(pattern, line, re.I)
    ]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_no_banned_terms(path):
    name = path.relative_to(ROOT)
    found = [f"{name}:{number}: {term!r}: write {instead}" for number, term, instead in banned_in(path)]
    assert not found, "\n" + "\n".join(found)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_pages_have_plain_sentences(path):
    lines = prose(path)
    found = [
        f"{path.name}:{number}: write {instead}"
        for number, line in enumerate(lines, 1)
        for pattern, instead in BANNED_IN_PAGES.items()
        if re.search(pattern, line, re.I)
    ]
    assert not found, "\n" + "\n".join(found)
    # write two sentences instead. Tables, mathematics and references may have lists
    sentences = [line for line in lines if not re.search(r"^\||\\|\$|doi:|arXiv|^- †", line)]
    assert not [line for line in sentences if ";" in line]


def public_docstrings():
    """Name and docstring of every public name, and of the public methods of classes."""
    for module in ("", ".data", ".quality", ".plots", ".study", ".rules", ".algorithms", ".errors"):
        found = importlib.import_module(f"lowland{module}")
        for name in lowland.__all__ if not module else dir(found):
            what = getattr(found, name)
            if name.startswith("_") or not getattr(what, "__module__", "").startswith("lowland"):
                continue
            members = vars(what).items() if inspect.isclass(what) else ()
            for member, each in (("", what), *members):
                if not member.startswith("_") and isinstance(getattr(each, "__doc__", None), str):
                    yield f"lowland{module}.{name}.{member}", inspect.cleandoc(each.__doc__)


def test_docstrings_of_public_names_have_plain_sentences():
    found = []
    for name, text in public_docstrings():
        prose = re.sub(r"``[^`]*``|^ *(>>>|\.\.\.|').*$|doi:\S+", "", text.partition("\nReferences\n")[0], flags=re.M)
        found += [f"{name}: {line.strip()}" for line in prose.splitlines() if re.search(PLAIN, line)]
    assert not found, "\n" + "\n".join(found)


@pytest.mark.parametrize(
    "sentence",
    [
        "The user is told so.", "the nearest neighbours", "a colour a class", "There is no way back.", "a whole number",
        "crowds of twins", "the graph hangs together", "falls into 3 parts", "best, if not surely", "one a row",
        "4 ears", "Mend that line.", "An error nobody foresaw", "it has learnt", "is judged by",
        "share of the variance", "by straight lines", "standardised columns", "the centre", "grey points",
        "labelled rows", "modelling", "behaviour", "dropped, and a warning says so", "some hundred columns",
        "a graph of your own", "What becomes of it", "pass a torch tensor that is there", "A DataWarning says so.",
        "columns that are no features", "They also sort, too", "the trust of every point",
    ],
)  # fmt: skip
def test_banned_terms_are_found(sentence):
    assert any(re.search(pattern, sentence, re.I) for pattern in BANNED)


@pytest.mark.parametrize(
    "sentence",
    ["standardized columns", "explained variance ratio", "otherwise", "the rows are shared", "precise", "comprises",
     "a year", "connected components", "analysis", "noise", "appears", "linearized", "raised", "revised",
     "supervised", "fold"],
)  # fmt: skip
def test_accepted_terms_are_not_flagged(sentence):
    assert not any(re.search(pattern, sentence, re.I) for pattern in BANNED)
