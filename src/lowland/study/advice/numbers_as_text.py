"""Numbers of the advice as text: scores with their intervals, dimensions, seconds."""

from __future__ import annotations

from collections.abc import Callable

from lowland.study.result import Score, Trial


def ranking(trials: list[Trial], name: str, score: Callable[[Trial], Score] | None = None) -> str:
    """The best few values of a measure, or of another score per trial."""
    of = score or (lambda trial: trial.scores[name])
    best = sorted(trials, key=lambda t: -of(t).value)[:5]
    listed = ", ".join(f"{t.name} {number(of(t))}" for t in best)
    more = f", and {len(trials) - 5} others" if len(trials) > 5 else ""
    interval = " (95% confidence interval)" if any(of(t).low is not None for t in best) else ""
    return f"{name[:1].upper()}{name[1:]}{interval}: {listed}{more}."


def number(score: Score) -> str:
    """The value, and its interval in parentheses."""
    if score.low is None or score.high is None:
        return f"{score.value:.2f}"
    return f"{score.value:.2f} ({score.low:.2f} to {score.high:.2f})"


def estimate(score: Score) -> str:
    """The value, and the interval with its name, for the first mention in a text."""
    return number(score).replace("(", "(95% confidence interval ")


def with_dimensions(trial: Trial) -> str:
    """The name of a trial and its number of dimensions."""
    return f"{trial.name} with {dimensions(trial.n_components)}"


def dimensions(k: int | None) -> str:
    """A number of dimensions."""
    return "1 dimension" if k == 1 else f"{k} dimensions"


def components(m: int) -> str:
    """A number of components."""
    return "1 component" if m == 1 else f"{m} components"


def seconds(trial: Trial) -> str:
    """The time of a trial."""
    if trial.seconds is None:
        return "time unknown"
    return f"{trial.seconds:,.0f} s" if trial.seconds >= 10 else f"{trial.seconds:.2g} s"
