"""What a study would choose, with the evidence, in words a person understands. Every claim names its number.

Rules: a difference within the intervals, or below a margin where all rows were looked at, is no difference; of what is
equal PCA is taken, else what is linear, else the best, or the fastest where the best takes long.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import get_args

from lowland.methods.base.traits import traits_of
from lowland.methods.registry import load_method
from lowland.study.plan import StudySize
from lowland.study.result import Advice, Purpose, Score, Trial
from lowland.study.scoring.knn_accuracy import NAME as ACCURACY
from lowland.study.scoring.measures import AREA, TRUST, TableFacts
from lowland.study.scoring.significance import above, because, only_one, ties, worse
from lowland.study.table import UNEVEN

ERROR = "reconstruction error"
PLAIN = {"n_components", "random_state"}  # parameters that leave PCA what it is
KEEP = 0.95  # of the variance, to compress
HALF = 0.5  # of PCA's error: what a curved method must reach, and keep the share, to be worth its trouble
STOPPED = "The study was stopped; this rests on what was done by then."
PATIENCE = 10.0  # seconds that the best of equals may take before a faster one is preferred


def advise(
    trials: Sequence[Trial], facts: TableFacts | None, size: StudySize, *, scaled: bool, counting: Sequence[str] = (),
    complete: bool = True,
) -> tuple[Advice, ...]:  # fmt: skip
    """Return the advice for every purpose that the data allow, that of the stated one first.

    ``scaled``: whether the columns were standardised; ``counting``: names of columns that only count the rows.
    """
    rules = {"see": _see, "compress": _compress, "classify": _classify}
    others = [p for p in get_args(Purpose) if p != size.purpose and (p != "classify" or size.classes is not None)]
    if facts is None:
        words = "The study was stopped before anything was measured, so that there is nothing to advise."
        return tuple(Advice(p, None, None, words, ()) for p in (size.purpose, *others))
    done = [trial for trial in trials if trial.status == "done"]
    remarks = (*_of_counting(counting), *_of_units(facts, scaled), *_of_no_classes(size))
    found = tuple(rules[p](done, facts, size) for p in (size.purpose, *others))
    found = tuple(replace(each, evidence=(*remarks, *each.evidence)) for each in found)
    return found if complete else tuple(replace(each, words=f"{STOPPED} {each.words}") for each in found)


# --- to see ---


def _see(done: list[Trial], facts: TableFacts, size: StudySize) -> Advice:
    drawn = _of_size([t for t in _placed(done) if AREA in t.scores and not _keeps_columns(t)], size.k)
    if not drawn:
        return Advice("see", None, None, "No trial gave an embedding that could be measured: nothing is advised.", ())
    best = max(drawn, key=lambda t: t.scores[AREA].value)
    equal = [t for t in drawn if ties(t.scores[AREA], best.scores[AREA])]
    chosen = _simplest(equal, AREA)
    best = chosen if _alike(chosen, best, AREA) else best
    area, top = chosen.scores[AREA], best.scores[AREA]
    words = f"To see the data, use {chosen.name} with {_dimensions(chosen.n_components)}. "
    if chosen is best and len(equal) == 1:
        words += (
            f"It keeps neighbourhoods of all sizes best of {_trials(drawn)}: the area under R_NX is {_number(area)}, "
            "where 0 is chance and 1 is perfect."
        )
    elif chosen is best:
        words += (
            f"It keeps neighbourhoods of all sizes best of {_trials(drawn)}, if not surely: the area under R_NX is "
            f"{_number(area)}, where 0 is chance and 1 is perfect."
        )
    else:
        words += (
            f"{best.name} keeps neighbourhoods of all sizes best of {_trials(drawn)}: the area under R_NX is "
            f"{_number(top)}, where 0 is chance and 1 is perfect. {chosen.name} has {_number(area)}, which cannot be "
            f"told from it {because(area, top)}, and it is {_simpler(chosen, best)}."
        )
    evidence = [_ranking(drawn, AREA)]
    if TRUST in chosen.scores:
        trust = chosen.scores[TRUST]
        evidence.append(f"Trustworthiness of {chosen.name}: {_number(trust)}. {trust.about}")
    if area.value < 0.3:
        words += f" An area of {area.value:.2f} is little: read the picture with care, most neighbours are not kept."
    return Advice(
        "see",
        chosen.name,
        chosen.n_components,
        words,
        (*evidence, *_of_dimension(facts, size)),
        chosen.method,
    )


# --- to compress ---


def _compress(done: list[Trial], facts: TableFacts, size: StudySize) -> Advice:
    m, share = enough_components(facts.shares, KEEP)
    name, count, method = (None, None, None) if m >= size.d or share < KEEP else (_pca_of(done, m, size.k), m, "PCA")
    words = _by_components(m, share, size)
    evidence = [f"{_that_keep(m)} {share:.2%} of the variance{_one_fewer(facts, m)}.", *_of_dimension(facts, size)]
    better = _better_than_pca(done, facts)
    if better is not None:
        trial, error, plain = better
        kept = 1 - error / facts.distortions[0]
        found = (
            f"a reconstruction error of {error:.4g}, less than half of the {plain:.4g} of PCA with as many, and keeps "
            f"{kept:.1%}"
        )
        who = f"{trial.name} with {_dimensions(trial.n_components)}"
        if kept >= KEEP and (trial.n_components or 0) < m:
            words = f"To compress, use {who}: it leaves {found}. PCA needs {_components(m)} for that."
            name, count, method = trial.name, trial.n_components, trial.method
        else:
            evidence.append(f"{who} leaves {found}.")
    errors = sorted((t.scores[ERROR].value, t.name) for t in done if ERROR in t.scores and t.n_components == size.k)
    if errors:
        told = ", ".join(f"{who} {error:.4g}" for error, who in errors[:4])
        evidence.append(f"Reconstruction errors with {_dimensions(size.k)}: {told}.")
    return Advice("compress", name, count, words, tuple(evidence), method)


def _pca_of(done: list[Trial], m: int, k: int) -> str | None:
    """The trial of plain PCA with so many components, else with as many as were asked for, if there is one."""
    found = {t.n_components: t.name for t in done if t.method == "PCA" and t.parameters.keys() <= PLAIN}
    return found.get(m, found.get(k))


def _by_components(m: int, share: float, size: StudySize) -> str:
    """What the spectrum of PCA says."""
    if share < KEEP:
        return (
            f"To compress, PCA needs more than {_components(m)}, all that were looked at: they keep {share:.1%} of the "
            f"variance, less than {KEEP:.0%}."
        )
    if m >= size.d:
        return f"To keep {KEEP:.0%} of the variance PCA needs all {size.d} columns: there is nothing to compress."
    return (
        f"To compress, use PCA with {_components(m)}: the fewest that keep {KEEP:.0%} of the variance of {size.d} "
        f"columns ({share:.1%})."
    )


def enough_components(shares: Sequence[float], wanted: float) -> tuple[int, float]:
    """Return the fewest components that keep a share of the variance, and what they keep."""
    kept = 0.0
    for m, share in enumerate(shares, start=1):
        kept += share
        if kept >= wanted - 1e-12:
            return m, kept
    return len(shares), kept


def _that_keep(m: int) -> str:
    return "1 component of PCA keeps" if m == 1 else f"{m} components of PCA keep"


def _one_fewer(facts: TableFacts, m: int) -> str:
    return "" if m == 1 else f", one fewer {sum(facts.shares[: m - 1]):.2%}"


def _better_than_pca(done: list[Trial], facts: TableFacts) -> tuple[Trial, float, float] | None:
    """A curved method whose error is half of what PCA leaves with as many components, if there is one."""
    found = []
    for t in done:
        error = t.scores.get(ERROR)
        k = t.n_components or 0
        if error is None or _is_linear(t) or k >= len(facts.distortions):
            continue
        plain = facts.distortions[k]
        if error.value < HALF * plain:
            found.append((error.value / plain, t, error.value, plain))
    return min(found, key=lambda each: each[0])[1:] if found else None


# --- to classify ---


def _classify(done: list[Trial], facts: TableFacts, size: StudySize) -> Advice:
    judged = _of_size([t for t in _placed(done) if ACCURACY in t.scores], size.k)
    if not judged:
        words = "No trial could be judged by its labels: a class has too few rows, or nothing was fitted."
        return Advice("classify", None, None, words, ())
    best = max(judged, key=lambda t: t.scores[ACCURACY].value)
    top, whole = best.scores[ACCURACY], facts.accuracy
    evidence = tuple(_of_accuracy(judged, facts, size))
    asked = [(t.scores[ACCURACY], t.name) for t in judged]
    asked += [(score, f"PCA with {_components(m)}") for m, score in facts.by_components]
    asked += [] if whole is None else [(whole, f"all {size.d} columns")]
    if not any(above(score, facts.commonest, len(asked)) for score, _ in asked):
        most, who = max(asked, key=lambda each: each[0].value)
        words = (
            f"It is not sure that these columns tell the classes: at best {_number(most)} of the held-out rows are "
            f"classified correctly ({who}), and {_guessing(facts)}."
        )
        return Advice("classify", None, None, words, evidence)
    good = [t for t in judged if ties(t.scores[ACCURACY], top) and _tells(t.scores[ACCURACY], facts, len(asked))]
    if not good:
        return _with_more_components(done, best, facts, size, evidence)
    chosen = _simplest(good, ACCURACY)
    score = chosen.scores[ACCURACY]
    words = (
        f"To classify, use {chosen.name} with {_dimensions(chosen.n_components)}: {_number(score)} of the held-out "
        "rows are classified correctly. "
    )
    if not _alike(chosen, best, ACCURACY):
        here, there = only_one(score, top)
        words += (
            f"{best.name} has {_number(top)}, and chance may have made the difference: {there} rows are classified "
            f"correctly only there, {here} only here. "
        )
    if whole is not None:
        words += f"From all {size.d} columns it is {_number(whole)}{', surely fewer' * worse(whole, score)}; "
    return Advice("classify", chosen.name, chosen.n_components, f"{words}{_guessing(facts)}.", evidence, chosen.method)


def _tells(score: Score, facts: TableFacts, tried: int) -> bool:
    """Whether a score is above guessing, and not below that of all columns."""
    whole = facts.accuracy
    as_much = whole is None or score.value >= whole.value or ties(score, whole)
    return as_much and above(score, facts.commonest, tried)


def _guessing(facts: TableFacts) -> str:
    return f"naming the commonest class would be right for {facts.commonest:.2f}"


def _with_more_components(
    done: list[Trial], best: Trial, facts: TableFacts, size: StudySize, evidence: tuple[str, ...]
) -> Advice:
    """Where the dimensions asked for are too few: the components of PCA that tell as much as all columns, if any do."""
    top, whole = best.scores[ACCURACY], facts.accuracy
    assert whole is not None  # otherwise the best would have been good enough
    few = f"With {_dimensions(best.n_components)} it is {_number(top)} at best ({best.name})"
    more = [(m, score) for m, score in facts.by_components if m > size.k]
    enough = next(((m, score) for m, score in more if _tells(score, facts, len(more))), None)
    if enough is None:
        words = (
            f"Reducing does not help here: from all {size.d} columns {_number(whole)} of the held-out rows are "
            f"classified correctly. {few}; {_guessing(facts)}. Keep the columns."
        )
        return Advice("classify", None, None, words, evidence)
    m, score = enough
    words = (
        f"To classify, use PCA with {_components(m)}: {_number(score)} of the held-out rows are classified correctly, "
        f"from all {size.d} columns {_number(whole)}. {few}; {_guessing(facts)}."
    )
    return Advice("classify", _pca_of(done, m, size.k), m, words, evidence, "PCA")


def _of_accuracy(judged: list[Trial], facts: TableFacts, size: StudySize) -> list[str]:
    said = [_ranking(judged, ACCURACY)]
    if facts.accuracy is not None:
        said.append(f"From all {size.d} columns: {_number(facts.accuracy)}.")
    if facts.by_components:
        told = ", ".join(f"{m}: {score.value:.2f}" for m, score in facts.by_components)
        said.append(f"From so many components of PCA: {told}.")
    said.append(
        "Accuracy is the share of held-out rows whose class their 5 nearest neighbours name; methods that learn from "
        "labels are fitted without those rows."
    )
    if facts.repeats > size.n / 20:
        said.append(
            f"{facts.repeats:,} of the {size.n:,} rows repeat another: some were learnt from before they were asked "
            "about. If such rows are one thing twice, leave the repeats out."
        )
    return said


# --- what the rules share ---


def _placed(trials: list[Trial]) -> list[Trial]:
    """Those that gave every row its coordinates; all where none did."""
    return [t for t in trials if not t.left_out] or trials


def _of_size(trials: list[Trial], k: int) -> list[Trial]:
    """Those with as many dimensions as were asked for, or fewer; all where a sweep has only more of them."""
    return [t for t in trials if t.n_components is None or t.n_components <= k] or trials


def _alike(a: Trial, b: Trial, name: str) -> bool:
    """Whether two scores read the same, to the digits that are told."""
    return f"{a.scores[name].value:.2f}" == f"{b.scores[name].value:.2f}"


def _simplest(trials: list[Trial], measure: str) -> Trial:
    """PCA, else the best that is linear, else the best, or the fastest where the best takes longer than patience."""
    linear = [t for t in trials if _is_linear(t)]
    best = min(linear or trials, key=lambda t: (t.method != "PCA", -t.scores[measure].value))
    if linear or (best.seconds or 0.0) <= PATIENCE:
        return best
    return min(trials, key=lambda t: (t.seconds or 0.0, t.name))


def _simpler(chosen: Trial, other: Trial) -> str:
    if chosen.method == "PCA" and other.method != "PCA":
        return "simpler: straight axes, the same each time, and new rows are placed by a product"
    if _is_linear(chosen) and not _is_linear(other):
        return "simpler: it only looks along straight axes"
    if chosen.seconds is not None and other.seconds is not None and chosen.seconds < other.seconds:
        return f"faster ({_seconds(chosen)} against {_seconds(other)})"
    return "no more trouble"


def _is_linear(trial: Trial) -> bool:
    from lowland.methods.base.linear_map import LinearMap

    cls = load_method(trial.method)
    return issubclass(cls, LinearMap) or traits_of(cls).selects_columns


def _keeps_columns(trial: Trial) -> bool:
    return bool(traits_of(load_method(trial.method)).selects_columns)


def _ranking(trials: list[Trial], name: str) -> str:
    """The best few of a measure."""
    best = sorted(trials, key=lambda t: -t.scores[name].value)[:5]
    told = ", ".join(f"{t.name} {_number(t.scores[name])}" for t in best)
    more = f", and {len(trials) - 5} more below" if len(trials) > 5 else ""
    return f"{name[:1].upper()}{name[1:]}: {told}{more}."


def _of_dimension(facts: TableFacts, size: StudySize) -> list[str]:
    if facts.dimension is None or facts.dimension_low is None or facts.dimension_high is None:
        return []
    told = (
        f"The intrinsic dimension of the rows is about {facts.dimension:.1f} (95 % interval {facts.dimension_low:.1f} "
        f"to {facts.dimension_high:.1f})"
    )
    if facts.dimension_low > size.k:
        return [f"{told}: {_dimensions(size.k)} cannot hold all there is."]
    return [f"{told}: {_dimensions(size.k)} can hold all there is, if the method unfolds it."]


def _of_counting(names: Sequence[str]) -> list[str]:
    return [
        f"The column {name!r} only counts the rows, and counts here as a measurement. Leave it out: drop=[{name!r}]."
        for name in names
    ]


def _of_no_classes(size: StudySize) -> list[str]:
    return [f"Nothing is advised to classify, since {size.no_classes}."] if size.no_classes else []


def _of_units(facts: TableFacts, scaled: bool) -> list[str]:
    if scaled:
        return ["The columns were standardised first: each has the deviation 1."]
    if facts.uneven > UNEVEN:
        return [
            f"The deviations of the columns differ by up to {_many(facts.uneven)} times, and the large ones count "
            "most. If that is only their units, say scale='standard'."
        ]
    return []


def _many(times: float) -> str:
    return f"{times:,.0f}" if times < 1e6 else f"{times:.1e}"


def _number(score: Score) -> str:
    if score.low is None or score.high is None:
        return f"{score.value:.2f}"
    return f"{score.value:.2f} ({score.low:.2f} to {score.high:.2f})"


def _dimensions(k: int | None) -> str:
    return "1 dimension" if k == 1 else f"{k} dimensions"


def _components(m: int) -> str:
    return "1 component" if m == 1 else f"{m} components"


def _trials(trials: list[Trial]) -> str:
    return "1 trial" if len(trials) == 1 else f"{len(trials)} trials"


def _seconds(trial: Trial) -> str:
    if trial.seconds is None:
        return "no time told"
    return f"{trial.seconds:,.0f} s" if trial.seconds >= 10 else f"{trial.seconds:.2g} s"
