"""The docs are correct: links resolve, snippets run and print the stated output, generated parts are up to date."""

import ast
import contextlib
import importlib.util
import inspect
import io
import json
import re
import shlex
import sys
from pathlib import Path

import numpy as np
import pytest

import lowland
from lowland.methods.base.params import attributes_of
from lowland.methods.registry import entries, load_method

ROOT = Path(__file__).parents[2]
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")),
    *sorted(ROOT.glob("docs/**/*.md")),
]
HOW_TO = ROOT / "docs" / "develop" / "add_a_method.md"
SCALE = ROOT / "docs" / "scale.md"
WHICH = ROOT / "docs" / "which-method.md"
LIST = ROOT / "docs" / "methods" / "index.md"
MEASURED = ROOT / "docs" / "develop" / "benchmarks.md"


def read(page):
    return page.read_text(encoding="utf-8")


def named(page):
    return str(page.relative_to(ROOT))


def snippets(page):
    return re.findall(r"^```python\n(.*?)^```", read(page), re.M | re.S)


def commands(page):
    """The lines of a page that a newcomer would type, without the word lowland."""
    blocks = re.findall(r"^```(\w*)\n(.*?)^```$", read(page), re.M | re.S)
    return re.findall(r"^lowland (.+)$", "".join(text for language, text in blocks if language != "python"), re.M)


@pytest.fixture(autouse=True, scope="module")
def cache_of_the_pages(tmp_path_factory):
    """Studies of the pages share one cache folder, so that each trial is fitted once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


def load_file(path, name):
    spec = importlib.util.spec_from_file_location(name, path)
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def generate():
    yield load_file(ROOT / "docs" / "generate.py", "lowland_docs_generate")
    sys.path[:] = [path for path in sys.path if path != str(ROOT / "docs")]
    for name in ("lowland_docs_generate", "pictures"):
        sys.modules.pop(name, None)


def anchors(page):
    """The anchors GitHub gives to the headings of a page."""
    heads = re.findall(r"^#+ (.+)$", re.sub(r"^```.*?^```", "", read(page), flags=re.M | re.S), re.M)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_links_resolve(page):
    text = re.sub(r"^```.*?^```", "", read(page), flags=re.M | re.S)
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if link.startswith(("http://", "https://")):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), link
        if anchor:
            assert anchor in anchors(target), link


@pytest.mark.parametrize("page", [page for page in PAGES if page != HOW_TO and snippets(page)], ids=named)
def test_snippets_run_and_print_the_stated_output(page, tmp_path, monkeypatch):
    """The snippets of a page run in order, in one namespace and an empty folder; ``print(x)  # y`` must print y."""
    monkeypatch.chdir(tmp_path)
    space = {"__name__": "snippet"}
    for snippet in snippets(page):
        expected = re.findall(r"^\s*print\(.*\)  # (.*)$", snippet, re.M)
        prints = [n for n in ast.walk(ast.parse(snippet)) if isinstance(n, ast.Call) and ast.unparse(n.func) == "print"]
        assert len(prints) == len(expected), f"a print without its answer in:\n{snippet}"
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(snippet, named(page), "exec"), space)
        assert out.getvalue().splitlines() == expected


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_code_that_is_only_shown_could_run(page):
    """Code that needs a GPU, a server or files of the reader is valid Python, and its commands have these options."""
    from click.testing import CliRunner

    from lowland.cli.main import cli

    blocks = re.findall(r"^```(\S*)\n(.*?)^```$", read(page), re.M | re.S)
    assert all(language for language, _ in blocks), "name the language of a block of code"
    for language, text in blocks:
        if language == "py":
            ast.parse(text)
        for line in re.findall(r"^\$ lowland (.+)$", text, re.M) if language == "console" else ():
            words = shlex.split(line, comments=True)
            shown = CliRunner().invoke(cli, [*words[: 2 if words[0] == "fit" else 1], "--help"]).output
            assert not [word for word in words if word.startswith("-") and word not in re.split(r"[\s,]+", shown)], line


TUTORIALS = sorted((ROOT / "docs" / "tutorials").glob("*.md"))


def cells(page):
    """The cells of a notebook in MyST Markdown, without their tags."""
    found = re.findall(r"^```\{code-cell\}\n(.*?)^```", read(page), re.M | re.S)
    return [re.sub(r"\A:tags:.*\n+", "", cell) for cell in found]


@pytest.mark.parametrize("page", [page for page in TUTORIALS if cells(page)], ids=named)
def test_tutorials_run(page, tmp_path, monkeypatch):
    """The cells run in order; those tagged remove-cell assert what the text says."""
    pytest.importorskip("IPython")
    monkeypatch.chdir(tmp_path)
    space = {"__name__": "cell"}
    with contextlib.redirect_stdout(io.StringIO()):
        for cell in cells(page):
            exec(compile(cell, named(page), "exec"), space)


PUBLIC = {"lowland", *(f"lowland.{name}" for name in lowland._MODULES)}


@pytest.mark.parametrize("page", [page for page in PAGES if "docs/develop" not in str(page)], ids=named)
def test_pages_for_users_import_nothing_internal(page):
    for node in (node for snippet in snippets(page) for node in ast.walk(ast.parse(snippet))):
        modules = [node.module] if isinstance(node, ast.ImportFrom) else []
        modules += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        internal = [name for name in modules if name.partition(".")[0] == "lowland" and name not in PUBLIC]
        assert not internal


@pytest.mark.parametrize("page", [page for page in PAGES if page != HOW_TO and commands(page)], ids=named)
def test_commands_run_in_order_in_an_empty_folder(page, tmp_path, monkeypatch):
    from click.testing import CliRunner

    from lowland.cli.main import cli

    monkeypatch.chdir(tmp_path)
    for line in commands(page):
        if line.split()[0] == "explore":  # a server, which runs until it is stopped: tests/explorer
            continue
        result = CliRunner().invoke(cli, shlex.split(line, comments=True))
        assert result.exit_code == 0, f"lowland {line}\n{result.output}"
        assert result.stdout


def test_the_page_on_the_command_line_lists_every_command():
    from lowland.cli.main import cli

    listed = re.findall(r"^\| `lowland ([\w-]+)", read(ROOT / "docs" / "command-line.md"), re.MULTILINE)
    assert set(listed) == set(cli.commands)


def test_the_example_method_of_the_contributing_guide_works(tmp_path):
    (text,) = snippets(HOW_TO)
    path = tmp_path / "random_projection.py"
    path.write_text(text, encoding="utf-8")
    module = load_file(path, "random_projection_of_the_docs")
    try:
        X = np.random.default_rng(0).standard_normal((200, 30)) + 5
        model = module.RandomProjection(30, random_state=0).fit(X)
        np.testing.assert_allclose(model.inverse_transform(model.transform(X)), X)  # k = d is a rotation
        Z = module.RandomProjection(20, random_state=0).fit(X).transform(X)
        before, after = np.square(X - X.mean(0)).sum(), np.square(Z).sum()
        assert after == pytest.approx(before, rel=0.1)
        with pytest.raises(ValueError, match="at most 30"):
            module.RandomProjection(31).fit(X)
        left = {name for name in vars(model) if name.endswith("_")}
        assert left == {a.name for a in attributes_of(module.RandomProjection) if not a.when}
        text = module.RandomProjection.__doc__
        places = [
            text.index(f"\n{title}\n---") for title in ("Parameters", "Attributes", "Notes", "References", "Examples")
        ]
        assert places == sorted(places)
    finally:
        del sys.modules["random_projection_of_the_docs"]


@pytest.mark.parametrize("entry", entries().values(), ids=lambda entry: entry.name)
def test_every_method_has_its_page(entry):
    page = ROOT / "docs" / "methods" / f"{entry.module.rpartition('.')[2]}.md"
    assert page.exists()
    assert f"# {entry.name}\n" in read(page)
    assert re.search(r"!\[[^\]]+\]\(\.\./pictures/", read(page)), (
        "a page has a picture, with words for those who cannot see"
    )


def lines_of(heading):
    """The lines of the table under a heading of the page on choosing a method, by the method they begin with."""
    section = read(WHICH).partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    rows = [re.match(r"\| (?:\[(\w+)\]\([^)]+\)|(\w+)) \| (.*)", line) for line in section.splitlines()]
    return [(row[1] or row[2], row[3]) for row in rows if row and row[2] != "Method"]


@pytest.mark.parametrize("heading", ["What each method can do", "What each method preserves, and its cost"])
def test_the_page_on_choosing_lists_every_method_once_per_table(heading):
    assert [name for name, _ in lines_of(heading)] == list(entries())


def test_sizes_on_the_page_on_choosing_were_measured():
    measured = read(MEASURED)
    for name, cells in lines_of("What each method preserves, and its cost"):
        for size in re.findall(r"\d+(?:,\d{3})+(?: × [\d,]+\d)?", cells):
            assert size in measured, name


# Figures on pages, as {} in the text, and where they were measured: job and line of the page with all jobs.
FIGURES = [
    ("benchmarks.md", "| TSNE | 60,000 | {} | openTSNE {} |", "tsne_mnist", "750 iterations, fit"),
    ("benchmarks.md", "| TSNE | 10,000 | {} | scikit-learn {} |", "tsne_sklearn", "defaults, fit"),
    ("benchmarks.md", "| UMAP | 60,000 | {} | umap-learn {}, seeded |", "umap_mnist", "warm"),
    ("benchmarks.md", "| PaCMAP | 60,000 | {} | pacmap {} |", "pacmap_mnist", "warm"),
    ("benchmarks.md", "budget 512 MB | {},", "parquet", "against reading and multiplying alone"),
    ("benchmarks.md", "| PCA of iris | {}, as scikit-learn", "iris", "against scikit-learn"),
    ("benchmarks.md", "| `import lowland` | {},", "importing", "against import numpy"),
    ("benchmarks.md", "| UMAP of 1,000,000 × 50 | {} ", "umap_many", "fit"),
    ("how-to/gpu.md", "| TSNE | 60,000 | {} |", "gpu_jobs", "t-SNE 60,000"),
    ("how-to/gpu.md", "| UMAP | 60,000 | {} |", "gpu_jobs", "UMAP 60,000"),
    ("how-to/gpu.md", "| PaCMAP | 60,000 | {} |", "gpu_jobs", "PaCMAP 60,000"),
    ("how-to/gpu.md", "| Isomap | 20,000 | {} |", "gpu_jobs", "Isomap 20,000"),
    ("how-to/gpu.md", "| LocallyLinearEmbedding | 20,000 | {} |", "gpu_jobs", "LLE 20,000"),
    ("how-to/gpu.md", "| DiffusionMap | 20,000 | {} |", "gpu_jobs", "DiffusionMap 20,000"),
    ("how-to/gpu.md", "| SpectralEmbedding | 20,000 | {} |", "gpu_jobs", "SpectralEmbedding 20,000"),
    ("how-to/gpu.md", "| TSNE | 1,000,000 | {} |", "gpu_jobs", "t-SNE 1,000,000"),
    ("how-to/gpu.md", "| UMAP | 1,000,000 | {} |", "gpu_jobs", "UMAP 1,000,000"),
    ("how-to/gpu.md", "| PaCMAP | 1,000,000 | {} |", "gpu_jobs", "PaCMAP 1,000,000"),
    ("quality.md", "of 20,000 points take {} and", "quality_neighborhoods", "20,000 rows, 50 columns"),
    ("methods/autoencoder.md", "digits of MNIST in {} |", "autoencoder_mnist", "training on all cores"),
    ("methods/classical_mds.md", "| 8,000 in {},", "classical", "against scikit-learn"),
    ("methods/classical_mds.md", "500 landmarks in {},", "landmarks", "fit and transform all rows"),
    ("methods/diffusion_map.md", "1,000,000 in {},", "growth", "diffusion map, 1,000,000 points"),
    ("methods/factor_analysis.md", "50,000 × 200 in {} |", "factors", "against scikit-learn"),
    ("methods/fast_ica.md", "100,000 × 30 in {} |", "independent", "against scikit-learn"),
    ("methods/feature_agglomeration.md", "2,000 × 3,000 in {} |", "tree_of_columns", "ward, against scikit-learn"),
    ("methods/feature_filter.md", "200,000 × 300 in {} |", "filters_one_pass", "pearson against f_regression"),
    ("methods/incremental_pca.md", "in chunks in {} |", "chunks", "against scikit-learn's IncrementalPCA"),
    ("methods/isomap.md", "| 10,000 in {},", "isomap_roll", "against scikit-learn"),
    ("methods/isomap.md", "500 landmarks in {} ", "landmark_isomap", "fit"),
    ("methods/kernel_pca.md", "8,000 × 20 in {},", "kernel_pca", "against scikit-learn's auto"),
    ("methods/kernel_pca.md", "1,000 landmarks in {} |", "kernel_pca_landmarks", "fit and transform"),
    ("methods/l1_selector.md", "20,000 × 300 in {} |", "l1_tall", "against LassoCV"),
    ("methods/linear_autoencoder.md", "200,000 × 100 in {} |", "linear_autoencoder_batches", None),
    ("methods/linear_discriminant_analysis.md", "100,000 × 300 in {} |", "discriminants", "against scikit-learn's svd"),
    ("methods/locally_linear_embedding.md", "| 1,000,000 in {},", "growth", "LLE, 1,000,000 points"),
    ("methods/mds.md", "2,000 × 64 in {},", "least_squares", "from classical MDS"),
    ("methods/pacmap.md", "60,000 in {} on", "pacmap_mnist", "warm"),
    ("methods/pca.md", "from a file in {} and", "parquet", "against reading and multiplying alone"),
    ("methods/projection_pursuit.md", "p-values in {} |", "randu_planes", "1-dimensional projections"),
    ("methods/self_organizing_map.md", "from a file in {},", "map_of_file", "fit within the budget"),
    ("methods/sequential_feature_selector.md", "20 selected in {} |", "sequential_linear", "against scikit-learn"),
    ("methods/spectral_embedding.md", "| 1,000,000 in {},", "growth", "Laplacian eigenmaps, 1,000,000 points"),
    ("methods/tsne.md", "| 60,000 in {} on", "tsne_mnist", "750 iterations, fit"),
    ("methods/umap.md", "| 60,000 in {}, and", "umap_mnist", "warm"),
    ("methods/umap.md", "1,000,000 × 50 in {} and", "umap_many", "fit"),
    ("methods/vector_quantizer.md", "64 code vectors in {} |", "code_book_whole", "against scikit-learn"),
    ("methods/classical_mds.md", "on a GPU in {} |", "gpu_scaling", "fit"),
    ("methods/mds.md", "on a GPU in {} per iteration |", "gpu_stress", "one iteration"),
    ("methods/pca.md", "on a GPU in {} |", "gpu", "fit and transform"),
    ("methods/multiple_correspondence_analysis.md", "as text in {} |", "categories", "text, against prince"),
    ("methods/truncated_svd.md", "1,797 × 64 in {} |", "truncated-svd", "against scikit-learn"),
    ("methods/whitening.md", "1,797 × 64 in {} |", "whitening", "alone"),
    (
        "methods/multiple_correspondence_analysis.md",
        "levels each takes {}, and prince takes {}",
        "categories",
        "text, against prince",
    ),
    ("methods/pacmap.md", "as 50 components take {} on two cores, and pacmap takes {}", "pacmap_mnist", "warm"),
    ("methods/pacmap.md", "compute on a GPU: {} on", "gpu_jobs", "PaCMAP 60,000"),
    ("methods/pca.md", '`missing="em"` took {}, and', "missing", "against statsmodels (missing='fill-em')"),
    ("methods/tsne.md", "750 iterations, takes {} on two cores", "tsne_mnist", "750 iterations, fit"),
    ("methods/tsne.md", "MNIST takes {} on an H200", "gpu_jobs", "t-SNE 60,000"),
    ("methods/umap.md", "60,000 × 50, takes {} on two cores, and umap-learn takes {}", "umap_mnist", "warm"),
    ("methods/umap.md", "MNIST takes {} on an H200", "gpu_jobs", "UMAP 60,000"),
    ("methods/local_map.md", "with a CUDA tensor {} on", "gpu_jobs", "LocalMAP 60,000"),
    ("how-to/larger-than-memory.md", "a table took {} and", "umap_many", "fit"),
]


def seconds(text):
    number, unit = text.split()
    return float(number) * {"s": 1, "ms": 1e-3, "µs": 1e-6}[unit]


@pytest.mark.parametrize(("page", "text", "job", "line"), FIGURES, ids=lambda value: str(value)[:40])
def test_figures_on_pages_were_measured(page, text, job, line):
    """A figure agrees with the last run of its benchmark: within 10%, or to the digits that the page gives."""
    found = re.search(re.escape(text).replace(r"\{\}", r"([\d.]+ [mµ]?s)"), read(ROOT / "docs" / page))
    assert found, "The page or this test has changed."
    lines = read(MEASURED).partition(f"| **{job}**:")[2].splitlines()[1:]
    measured = next(each for each in lines if line is None or each.startswith(f"| {line} |"))
    column = 3 if line is None else 2  # there, the peer is the figure: all rows per step
    for i, shown in enumerate(found.groups()):
        truth = seconds(measured.split(" | ")[column - 1 + i].strip("| "))
        last_digit = 10.0 ** -len(shown.split()[0].partition(".")[2]) * seconds(f"1 {shown.split()[1]}")
        assert abs(seconds(shown) - truth) <= max(0.1 * truth, last_digit / 2), (shown, truth)


def lines_of_job(job):
    return read(MEASURED).partition(f"| **{job}**:")[2].partition("| **")[0]


@pytest.mark.parametrize(("name", "job"), [("t-SNE", "tsne_mnist"), ("UMAP", "umap_mnist"), ("PaCMAP", "pacmap_mnist")])
def test_maps_of_a_gpu_are_as_good(name, job):
    assert "differs by less than 0.001" in read(ROOT / "docs/how-to/gpu.md")
    on_gpu = re.search(rf"^\| {name} 60,000 .*accuracy ([\d.]+)", lines_of_job("gpu_jobs"), re.M)
    on_cpu = re.search(r"accuracy ([\d.]+)", lines_of_job(job))
    assert abs(float(on_gpu[1]) - float(on_cpu[1])) < 1e-3


def test_the_page_on_gpus_lists_what_was_measured():
    page = read(ROOT / "docs/how-to/gpu.md")
    measured = json.loads(read(ROOT / "benchmarks/gpu_methods.json"))["methods"]
    works = {name for name, each in measured.items() if each["gpu"].get("output", "").startswith("cuda")}
    table, timed = (page.partition(head)[2].partition("\n\n")[0] for head in ("| Computes |", "| Method | CPU | GPU |"))
    listed = [name for row in re.findall(r"^\| .* \| (.*) \|$", table, re.M) for name in row.split(", ")]
    assert sorted(listed) == sorted(works)
    assert f"{len(works)} of the {len(entries())} methods" in page
    for name, *shown in re.findall(r"^\| (\w+) \| ([\d.]+) s \| ([\d.]+) s \|$", timed, re.M):
        truth = [measured[name][device]["seconds"] for device in ("host", "gpu")]
        np.testing.assert_allclose(list(map(float, shown)), truth, rtol=0.06, err_msg=name)


def test_first_fits_on_a_gpu_were_measured():
    found = re.findall(r"\| ([\d.]+ m?s) \|.*first fit ([\d.]+ s)", lines_of_job("gpu_jobs"))
    longer = [seconds(first) - seconds(second) for second, first in found]
    assert 0.3 <= min(longer) <= max(longer) < 4.5
    assert "takes 0.3 to 4 s longer" in read(ROOT / "docs/how-to/gpu.md")


@pytest.mark.parametrize("name", ["TSNE", "UMAP", "PaCMAP", "LocalMAP"])
def test_accuracies_of_new_points_were_measured(name):
    page, measured = read(ROOT / f"docs/methods/{load_method(name).__module__.rpartition('.')[2]}.md"), read(MEASURED)
    text = " ".join(page.split())
    remark = re.search(rf"^\| {name}, 10,000 new rows among 20,000 .*$", measured, re.M).group()
    new, old = re.search(r"accuracy ([\d.]+), of training rows ([\d.]+)", remark).groups()
    shown = re.search(r"20,000 training images in the map, ([\d.]+)% of 10,000 .*? and ([\d.]+)% of the", text)
    np.testing.assert_allclose([float(x) / 100 for x in shown.groups()], [float(new), float(old)], atol=6e-4)


def test_the_maps_of_umap_are_as_good_as_those_of_the_peer():
    lacks = re.findall(r"^\| UMAP, [^|]+, \d+ seeds \| (\S+) \|", read(MEASURED), re.M)
    assert len(lacks) == 5
    assert max(map(float, lacks)) <= 5e-3  # digits, two sets of faces, MNIST and Fashion-MNIST


@pytest.mark.parametrize("name", ["PaCMAP", "LocalMAP"])
def test_the_maps_of_pacmap_are_as_good_as_those_of_the_peer(name):
    """Trustworthiness, continuity, accuracy and triplets of the last run are not further below than the page says."""
    page, measured = read(ROOT / f"docs/methods/{load_method(name).__module__.rpartition('.')[2]}.md"), read(MEASURED)
    most = float(re.search(r"triplets are at most ([\d.]+) below those of pacmap", " ".join(page.split()))[1])
    for job in ("digits", "MNIST 10,000"):
        remark = re.search(rf"^\| {name}, {job}, \d+ seeds .*$", measured, re.M).group()
        pairs = re.findall(r"([\d.]+) \(peer ([\d.]+)\)", remark)
        assert len(pairs) == 4
        assert max(float(peer) - float(ours) for ours, peer in pairs) <= most + 1e-9


@pytest.mark.parametrize("name", ["README.md", "CITATION.cff", "docs/index.md", "docs/tutorials/choosing-a-method.md"])
def test_pages_count_the_methods(name):
    assert f"{len(entries())} methods" in read(ROOT / name)


def test_the_summary_of_the_benchmarks_follows_from_the_measurements():
    page, measured = read(ROOT / "docs/benchmarks.md"), read(MEASURED)
    lacks = re.findall(r"^\| \w+, [^|]+, \d+ seeds \| (\S+) \|.*\| ≤ 5e-03", measured, re.M)
    assert f"at most 0.005 below the peers' in {sum(float(x) <= 5e-3 for x in lacks)} of {len(lacks)}" in page
    table = page.partition("| Method | Rows |")[2].partition("\n\n")[0]
    shares = [float(ours) / float(peer) for ours, peer in re.findall(r"([\d.]+) s \| [\w-]+ ([\d.]+) s", table)]
    low, _, high = sorted(shares[i] for i in (0, 2, 3))
    assert f"between {low:.0%} and\n{high:.0%} of the time" in page
    assert "an eighth of the time of scikit-learn" in page
    assert round(1 / shares[1]) == 8


@pytest.mark.parametrize("entry", entries().values(), ids=lambda entry: entry.name)
def test_pages_cite_what_the_classes_cite(entry):
    link = r"doi:10\.\d{4,9}/\S+?(?=[.,]?(?:\s|$))|arXiv:[\d.]+\d|jmlr\.org/\S+\w"
    cited = re.findall(link, inspect.getdoc(load_method(entry.name)).partition("\nReferences\n---")[2])
    page = read(ROOT / f"docs/methods/{entry.module.rpartition('.')[2]}.md").partition("\n## References\n")[2]
    assert cited
    assert not [each for each in cited if each not in page]


def test_pages_stay_short():
    assert len(read(WHICH).splitlines()) - 3 * len(entries()) <= 125
    assert len(read(ROOT / "CONTRIBUTING.md").splitlines()) < 60
    assert len(read(ROOT / "README.md").splitlines()) < 60


def test_pages_contain_no_local_paths():
    for page in PAGES:
        assert not re.search(r"(?<![\w.])/(home|root|work|tmp|Users)/", read(page)), page


def test_generated_texts_are_up_to_date(generate):
    assert read(LIST) == generate.with_methods(read(LIST)), "stale: run make docs"
    assert read(ROOT / "docs" / "api" / "index.md") == generate.names_of_the_site(), "stale: run make docs"
    assert read(WHICH) == generate.with_facts(read(WHICH)), "stale: run make docs"
    assert read(SCALE) == generate.with_scale(read(SCALE)), "stale: run make docs"


def test_pictures_are_generated_small_and_shown(generate):
    pytest.importorskip("matplotlib")
    pictures = generate.pictures()
    shown = {Path(p).name for page in PAGES for p in re.findall(r"!\[[^\]]*\]\(([^)]+\.png)\)", read(page))}
    files = {path.name: path for path in (ROOT / "docs").glob("*/*.png")}
    assert {f"{name}.png" for name in pictures} <= set(files)
    assert set(files) == shown
    assert all(path.stat().st_size <= generate.MOST_BYTES for path in files.values())


def test_the_page_on_neighbors_lists_every_metric():
    from lowland.math.distances.metrics import METRICS

    section = (ROOT / "docs" / "neighbors.md").read_text().partition("Metrics, with")[2].partition("```")[0]
    listed = set(re.findall(r'`"(\w+)"`', section))
    assert listed == {*METRICS, "precomputed"}


def test_a_page_may_define_its_own_picture(generate, tmp_path):
    pytest.importorskip("matplotlib")
    page = tmp_path / "some_method.md"
    page.write_text(
        "```python\nfrom lowland import plots\n```\nand\n```python\nfigure = plots.scree([3.0, 1.0])\n```\n"
    )
    generate.drawn_by_page(page).savefig(tmp_path / "picture.png")
    page.write_text("```python\nx = 1\n```\n")
    with pytest.raises(ValueError, match="picture that no code draws"):
        generate.drawn_by_page(page)
