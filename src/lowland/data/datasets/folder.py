"""Real data sets, read from the folder in the environment variable LOWLAND_DATA. Nothing is downloaded."""

import os
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from zipfile import BadZipFile

import numpy as np

from lowland.data.datasets.dataset import Array, Dataset, image_dataset, one_of
from lowland.data.datasets.generators import rolled_sheet
from lowland.errors import FileProblem, MissingFile, ParameterError, file_error

FOLDER_VARIABLE = "LOWLAND_DATA"


def _mnist(split: str = "train") -> Dataset:
    """MNIST: handwritten digits of 28 × 28 pixels, 60,000 to train or 10,000 to test (split)."""
    file = f"mnist_{one_of('mnist', 'split', split, ('train', 'test'))}.npz"
    X, y = _read_npz("mnist", file, "X", "y")
    about = f"{len(X)} handwritten digits, 28 × 28 pixels from 0 to 255; LeCun, Cortes and Burges (1998)."
    return image_dataset(X, (28, 28), y.astype(np.int64), about, label_names=tuple("0123456789"))


def _olivetti() -> Dataset:
    """Olivetti faces: 10 photographs each of 40 persons, 64 × 64 pixels."""
    X, y = _read_npz("olivetti", "olivetti.npz", "X", "y")
    about = "400 faces of 40 persons, taken at AT&T Laboratories Cambridge in 1992 to 1994. y: the person."
    return image_dataset(X, (64, 64), y.astype(np.int64), about)


def _frey() -> Dataset:
    """Frey face: 1965 video frames of one person with varying pose and expression, 28 × 20 pixels."""
    (X,) = _read_npz("frey", "frey.npz", "X")
    return image_dataset(X, (28, 20), None, "1965 frames of a video of Brendan Frey's face; Roweis and Saul (2000).")


def _isomap_faces() -> Dataset:
    """Isomap faces: 698 renderings of one head by pan, tilt and light direction, 32 × 32 pixels."""
    X, pan, tilt, light = _read_npz("isomap_faces", "isomap_faces32.npz", "X", "pan", "tilt", "light")
    about = (
        "698 rendered faces at 32 × 32 pixels; Tenenbaum, de Silva and Langford (2000). "
        "truth: pan, tilt and light, standardized; y: pan."
    )
    return image_dataset(X, (32, 32), pan, about, np.column_stack([pan, tilt, light]))


def _yeast() -> Dataset:
    """UCI yeast: 1484 proteins, 8 attributes, 10 localization sites."""
    names, X, words = _read_csv("yeast", "yeast.csv", text=("name", "class"))
    label_names, y = np.unique(words["class"], return_inverse=True)
    about = "1484 yeast proteins with 8 sequence attributes; Nakai, UCI (1996). y: the localization site in the cell."
    return Dataset(X, y.astype(np.int64), names, tuple(map(str, label_names)), about)


def _height_weight() -> Dataset:
    """Height in inches and weight in pounds of 210 people: the effect of standardizing."""
    names, X, words = _read_csv("height_weight", "height_weight.csv", text=("sex",))
    about = "Height (inches) and weight (pounds) of 73 men and 137 women. y: 0 for F, 1 for M."
    return Dataset(X, (words["sex"] == "M").astype(np.int64), names, ("F", "M"), about)


def _eurodist() -> Dataset:
    """Road distances in km between 21 European cities: not quite Euclidean."""
    about = "Road distances in kilometers between 21 European cities, as in R's eurodist (The Cambridge Encyclopaedia)."
    return _matrix("eurodist", "eurodist.csv", "distances", about)


def _ability() -> Dataset:
    """Covariance matrix of 6 ability tests taken by 112 people, for factor analysis."""
    about = "Covariance matrix of 6 ability tests, n = 112 people, as in R's ability.cov; Smith and Stanley (1983)."
    return _matrix("ability", "ability.cov.csv", "covariance", about)


def _harman() -> Dataset:
    """Correlation matrix of 24 psychological tests taken by 145 students: a classic of factor analysis."""
    about = "Correlation matrix of 24 tests, n = 145 students, as in R's Harman74.cor; Holzinger and Swineford (1939)."
    return _matrix("harman", "Harman74.cor.csv", "covariance", about)


def _cocktail(recording: str = "speech") -> Dataset:
    """Two microphones in one room (recording: speech, music or hard_speech): blind source separation."""
    file, recordings = "cocktail_audio.npz", ("speech", "music", "hard_speech")
    (X,) = _read_npz("cocktail", file, one_of("cocktail", "recording", recording, recordings))
    about = f"{len(X)} audio samples at 16 kHz from two microphones ({recording}). Real data: the sources are unknown."
    return Dataset(X.astype(np.float64), None, ("microphone_1", "microphone_2"), about=about)


def _foetal_ecg() -> Dataset:
    """Fetal ECG: eight electrodes on a pregnant woman, 10 s at 250 Hz, for blind source separation."""
    names, X, _ = _read_csv("foetal_ecg", "foetal_ecg.csv.gz")
    about = "Potentials at 5 abdominal and 3 thoracic electrodes, 250 Hz; De Lathauwer et al. (2000), DaISy database."
    return Dataset(X, None, names, about=about)


def _ica_mixed() -> Dataset:
    """Four linear mixtures of four known sources, for independent component analysis."""
    names, X, _ = _read_csv("ica_mixed", "ica_mixed.csv.gz")
    _, truth, _ = _read_csv("ica_mixed", "ica_sources.csv.gz")
    return Dataset(
        X, None, names, about="2000 samples of 4 linear mixtures, generated. truth: the 4 sources.", truth=truth
    )


def _randu_r() -> Dataset:
    """The 400 RANDU triples that R ships, rounded to six decimals."""
    names, X, _ = _read_csv("randu_r", "randu.csv")
    about = "400 triples of the generator RANDU under VAX Fortran, rounded to 6 decimals, as in R's randu."
    return Dataset(X, None, names, about=about)


def _swiss_roll_fixed(n: int = 1000) -> Dataset:
    """The swiss rolls of 300 or 1000 points (n) on which the reference results were computed."""
    if n not in (300, 1000):
        raise ParameterError("there are two sizes.", "Choose n = 300 or 1000.", method="swiss_roll_fixed", n=n)
    _, cells, _ = _read_csv("swiss_roll_fixed", f"swissroll{n}.csv")
    return rolled_sheet(cells[:, :3], cells[:, 3], cells[:, 4], "fixed, as for the reference results")


def _matrix(sample: str, file: str, kind: str, about: str) -> Dataset:
    names, X, _ = _read_csv(sample, file, text=("",))
    return Dataset(X, None, names, about=about, kind=kind)


def _read_npz(sample: str, file: str, *keys: str) -> list[Array]:
    path = _find(sample, file)
    # opened here, since np.load leaves the file open when the archive is damaged
    with _reading(path), path.open("rb") as opened, np.load(opened, allow_pickle=False) as arrays:
        return [arrays[key] for key in keys]


def _read_csv(sample: str, file: str, text: tuple[str, ...] = ()) -> tuple[tuple[str, ...], Array, dict[str, Array]]:
    """Names and values of the numeric columns, and the columns of text by name."""
    path = _find(sample, file)
    with _reading(path):
        cells = np.loadtxt(path, dtype=str, delimiter=",", comments=None, encoding="utf-8", ndmin=2)
        header = [str(name) for name in cells[0]]
        numeric = [column for column, name in enumerate(header) if name not in text]
        words = {name: cells[1:, header.index(name)] for name in text}
        return tuple(header[column] for column in numeric), cells[1:, numeric].astype(np.float64), words


def _find(sample: str, file: str) -> Path:
    folder = os.environ.get(FOLDER_VARIABLE)
    if not folder:
        raise MissingFile(
            f"load_dataset({sample!r}) requires {file}, but the environment variable {FOLDER_VARIABLE} is not set. "
            f"Set {FOLDER_VARIABLE} to the folder that contains {file}.{_where(sample)}"
        )
    path = Path(folder).expanduser() / file
    if not path.is_file():
        problem = f"{file} is not in it" if path.parent.is_dir() else "this folder does not exist"
        raise MissingFile(
            f"load_dataset({sample!r}) requires {file} in {FOLDER_VARIABLE}={folder}, but {problem}. "
            f"Copy {file} there, or set {FOLDER_VARIABLE} to the folder that contains it.{_where(sample)}"
        )
    return path


def _where(sample: str) -> str:
    return f" To get it: {SOURCES[sample]}." if sample in SOURCES else ""


SOURCES = {  # where a file comes from; the other files are not published in one place
    "mnist": 'X, y = sklearn.datasets.fetch_openml("mnist_784", return_X_y=True, as_frame=False). The first 60,000 '
    "rows are mnist_train.npz and the others mnist_test.npz, each written by numpy.savez(file, X=X, y=y) as integers",
    "olivetti": "sklearn.datasets.fetch_olivetti_faces(), written by numpy.savez with X (400 × 64 × 64, from 0 to 255) "
    "and y",
    "frey": "https://cs.nyu.edu/~roweis/data.html, written by numpy.savez with X (1965 × 28 × 20)",
    "yeast": "https://archive.ics.uci.edu/dataset/110, as CSV with the header "
    "name,mcg,gvh,alm,mit,erl,pox,vac,nuc,class",
    "foetal_ecg": "https://homes.esat.kuleuven.be/~smc/daisy/, as CSV with the header "
    "abd1,abd2,abd3,abd4,abd5,thor1,thor2,thor3",
    "eurodist": 'in R, write.csv(as.matrix(eurodist), "eurodist.csv", quote = FALSE)',
    "ability": 'in R, write.csv(ability.cov$cov, "ability.cov.csv", quote = FALSE)',
    "harman": 'in R, write.csv(Harman74.cor$cov, "Harman74.cor.csv", quote = FALSE)',
    "randu_r": 'in R, write.csv(randu, "randu.csv", quote = FALSE, row.names = FALSE)',
}


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, EOFError, ValueError, TypeError, LookupError, BadZipFile, zlib.error) as problem:
        damaged = FileProblem(f"{path} cannot be read: {problem}. Replace it by an intact copy.")
        raise file_error(path, problem, damaged) from problem


FROM_FOLDER: dict[str, Callable[..., Dataset]] = {
    load.__name__[1:]: load
    for load in (
        _mnist, _olivetti, _frey, _isomap_faces, _yeast, _height_weight, _eurodist, _ability, _harman, _cocktail,
        _foetal_ecg, _ica_mixed, _randu_r, _swiss_roll_fixed,
    )
}  # fmt: skip
