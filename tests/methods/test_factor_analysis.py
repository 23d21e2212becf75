"""Factor analysis."""

import warnings

import numpy as np
import pytest
import sklearn.decomposition
from sklearn.exceptions import ConvergenceWarning

import lowland
from lowland import FactorAnalysis
from lowland.data import load_dataset
from lowland.errors import DataError, DataWarning, ParameterError
from lowland.math.factors.rotations import ROTATIONS, rotate


def quietly(fit, *data):
    """Fit where warnings are expected and tested elsewhere."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return fit(*data)


def standard_wine():
    X = load_dataset("wine").X
    return (X - X.mean(axis=0)) / X.std(axis=0)


def sample(n=2000, d=10, k=3, seed=0):
    """Rows of a factor model, with its covariance."""
    rng = np.random.default_rng(seed)
    W = rng.standard_normal((d, k))
    psi = rng.uniform(0.3, 2.0, d)
    X = rng.standard_normal((n, k)) @ W.T + rng.standard_normal((n, d)) * np.sqrt(psi) + 5 * rng.standard_normal(d)
    return X, W @ W.T + np.diag(psi)


# --- the maximum ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [1, 2, 3])
def test_both_routes_reach_the_same_maximum(k):
    X, _ = sample()
    fast = FactorAnalysis(k).fit(X)
    em = FactorAnalysis(k, method="em", tol=1e-9, max_iter=20000).fit(X)
    assert fast.converged_
    assert em.converged_
    assert fast.n_iter_ < 25 < em.n_iter_
    assert fast.loglike_[-1] == pytest.approx(em.loglike_[-1], abs=1e-6)
    np.testing.assert_allclose(em.noise_variance_, fast.noise_variance_, rtol=1e-4)
    np.testing.assert_allclose(em.components_, fast.components_, atol=1e-4 * np.abs(fast.components_).max())


def test_likelihood_is_at_least_that_of_scikit_learn():
    X = standard_wine()
    ours = FactorAnalysis(3).fit(X)
    theirs = sklearn.decomposition.FactorAnalysis(3, tol=1e-10, max_iter=50000, svd_method="lapack").fit(X)
    np.testing.assert_allclose(ours.noise_variance_, theirs.noise_variance_, rtol=1e-3)
    np.testing.assert_allclose(ours.get_covariance(), theirs.get_covariance(), atol=1e-4)
    signs = np.sign(np.sum(ours.components_ * theirs.components_, axis=1))
    np.testing.assert_allclose(ours.components_, theirs.components_ * signs[:, None], atol=1e-2)
    np.testing.assert_allclose(ours.transform(X), theirs.transform(X) * signs, atol=1e-3)
    np.testing.assert_allclose(ours.score_samples(X), theirs.score_samples(X), atol=1e-3)
    assert ours.score(X) >= theirs.score(X) - 1e-12
    assert ours.loglike_[-1] / len(X) == pytest.approx(ours.score(X), abs=1e-10)


@pytest.mark.parametrize("rotation", ["varimax", "quartimax"])
def test_rotations_of_scikit_learn(rotation):
    def simplicity(loadings):
        return np.sum(np.var(loadings**2, axis=0)) if rotation == "varimax" else np.sum(loadings**4)

    X = standard_wine()
    theirs = sklearn.decomposition.FactorAnalysis(3, rotation=rotation, tol=1e-4).fit(X)
    ours = FactorAnalysis(3, rotation=rotation).fit(X)
    near = np.abs(ours.components_ @ theirs.components_.T)
    near /= np.linalg.norm(ours.components_, axis=1)[:, None] * np.linalg.norm(theirs.components_, axis=1)
    np.testing.assert_allclose(near.max(axis=1), 1, atol=1e-3)
    units = X * np.geomspace(0.1, 10, 13)  # without Kaiser normalization the units matter, as in scikit-learn
    plain, turned = (sklearn.decomposition.FactorAnalysis(3, rotation=r).fit(units) for r in (None, rotation))
    assert simplicity(rotate(plain.components_.T, rotation).loadings) >= simplicity(turned.components_.T) * (1 - 1e-9)
    ours = FactorAnalysis(3, rotation=rotation).fit(units)
    best = rotate(FactorAnalysis(3).fit(units).components_.T, rotation)
    np.testing.assert_allclose(ours.components_.T, best.loadings, atol=1e-5 * np.abs(best.loadings).max())


def test_the_true_covariance_is_recovered():
    X, S = sample(50_000)
    fa = FactorAnalysis(3).fit(X)
    np.testing.assert_allclose(fa.get_covariance(), S, atol=0.05 * np.abs(S).max())
    assert fa.fit_test_.p_value > 1e-3  # the model is true
    assert FactorAnalysis(2).fit(X).fit_test_.p_value < 1e-10


def test_several_initializations():
    X = sklearn.datasets.load_diabetes().data  # the first initialization ends in a local maximum
    one, many = (quietly(FactorAnalysis(1, n_starts=n).fit, X) for n in (1, 8))
    assert len(many.start_loglike_) == 8
    assert many.loglike_[-1] == pytest.approx(max(many.start_loglike_))
    assert many.loglike_[-1] > one.loglike_[-1] + 1
    assert quietly(FactorAnalysis(1).fit, X).loglike_[-1] == pytest.approx(many.loglike_[-1])
    best = quietly(FactorAnalysis(1, n_starts=1, noise_variance_init=many.noise_variance_).fit, X)
    assert best.loglike_[-1] == pytest.approx(many.loglike_[-1])
    assert best.n_iter_ <= 2


def test_convergence_is_recorded():
    X, _ = sample()
    assert np.all(np.diff(FactorAnalysis(3).fit(X).loglike_) > -1e-7)
    em = FactorAnalysis(3, method="em").fit(X)
    assert np.all(np.diff(em.loglike_) > -1e-7)
    assert em.n_iter_ == len(em.loglike_)
    assert "tol" in em.stopped_because_
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        short = FactorAnalysis(3, method="em", max_iter=3, tol=0).fit(X)
    assert not short.converged_
    assert short.loglike_[-1] / len(X) == pytest.approx(short.score(X), abs=1e-10)


# --- many columns -----------------------------------------------------------------------------------------------------


def test_leading_eigenpairs_give_the_result_of_all(monkeypatch):
    for n, d in ((60, 130), (90, 130), (400, 130)):  # a root of low rank, a singular R, one of full rank
        X, _ = sample(n, d, 4, seed=1)
        whole = FactorAnalysis(4).fit(X)
        for place in ("likelihood_searches", "correlations"):
            monkeypatch.setattr(f"lowland.math.factors.{place}.MANY", 100)
        few, em = FactorAnalysis(4, tol=0).fit(X), FactorAnalysis(4, method="em", tol=1e-7, max_iter=5000).fit(X)
        monkeypatch.undo()
        assert few.converged_
        assert few.loglike_[-1] == pytest.approx(whole.loglike_[-1], abs=1e-6)
        assert em.loglike_[-1] == pytest.approx(whole.loglike_[-1], abs=1e-3)
        assert few.loglike_[-1] == pytest.approx(few.score(X) * n, rel=1e-12)
        np.testing.assert_allclose(few.loadings_, whole.loadings_, atol=1e-6)
        np.testing.assert_allclose(few.uniquenesses_, whole.uniquenesses_, atol=1e-6)
        assert (few.kmo_ is None) == (few.sphericity_ is None) == (few.fit_test_ is None) == (n <= d)
        if n > d:
            assert few.kmo_.overall == pytest.approx(whole.kmo_.overall, rel=1e-10)
            assert few.fit_test_.statistic == pytest.approx(whole.fit_test_.statistic, rel=1e-8)


def test_a_covariance_of_full_rank_though_the_rows_are_few(monkeypatch):
    """A regularized covariance: its rank does not follow from the number of rows."""
    for place in ("likelihood_searches", "correlations"):
        monkeypatch.setattr(f"lowland.math.factors.{place}.MANY", 100)
    S = np.cov(sample(1000, 110, 3)[0], rowvar=False)
    few, many = (FactorAnalysis(3).fit_covariance(S, n) for n in (40, 1000))
    np.testing.assert_allclose(few.uniquenesses_, many.uniquenesses_, atol=1e-8)


def test_a_wide_table_is_not_worse_than_scikit_learns():
    X, _ = sample(50, 450, 3)
    X = X.astype(np.float32)
    ours = FactorAnalysis(3).fit(X)
    theirs = sklearn.decomposition.FactorAnalysis(3).fit(X.astype(np.float64))
    assert ours.converged_
    assert ours.stopped_because_ == "the log-likelihood increased by less than tol"
    assert ours.loglike_[-1] >= theirs.loglike_[-1]
    assert ours.score(X) >= theirs.score(X.astype(np.float64)) - 1e-6
    assert ours.kmo_ is None
    assert ours.components_.dtype == np.float32
    assert FactorAnalysis("parallel").fit(X).n_components_ == 3
    with pytest.warns(ConvergenceWarning, match=r"not converge.* 2 iterations .*Raise max_iter\.$"):
        short = FactorAnalysis(3, max_iter=2).fit(X)
    assert short.n_iter_ == len(short.loglike_) == 2
    exact = quietly(FactorAnalysis().fit, X)  # as many factors as columns
    assert exact.components_.shape == (450, 450)
    assert np.isfinite(exact.score(X))


def test_a_wide_table_needs_few_matrices():
    X = np.random.default_rng(0).standard_normal((10, 1000))
    with lowland.config(memory="33MB"):  # four of 1000 x 1000
        quietly(FactorAnalysis(1).fit, X)
    with lowland.config(memory="31MB"), pytest.raises(lowland.errors.MemoryBudgetError, match="1,000 columns"):
        FactorAnalysis(1).fit(X)


# --- results of the model ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kaiser", [False, True])
@pytest.mark.parametrize("rotation", ROTATIONS)
def test_rotation_leaves_the_covariance_and_the_fit_unchanged(rotation, kaiser):
    X = load_dataset("wine").X
    plain, rotated = FactorAnalysis(3).fit(X), FactorAnalysis(3, rotation=rotation, kaiser=kaiser).fit(X)
    np.testing.assert_allclose(rotated.get_covariance(), plain.get_covariance(), rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(rotated.get_precision(), plain.get_precision(), rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(rotated.noise_variance_, plain.noise_variance_, rtol=1e-10)
    np.testing.assert_allclose(rotated.communalities_, plain.communalities_, rtol=1e-8)
    assert rotated.score(X) == pytest.approx(plain.score(X), abs=1e-9)
    # the reconstruction is unchanged too, though the scores are rotated
    back, plain_back = (fa.inverse_transform(fa.transform(X)) for fa in (rotated, plain))
    np.testing.assert_allclose(back, plain_back, rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(rotated.structure_, rotated.loadings_ @ rotated.factor_correlation_)


def test_variances_are_split():
    X = load_dataset("wine").X
    fa = FactorAnalysis(3, rotation="oblimin").fit(X)
    np.testing.assert_allclose(fa.communalities_ + fa.uniquenesses_, 1, atol=1e-8)
    np.testing.assert_allclose(fa.noise_variance_, fa.uniquenesses_ * X.var(axis=0))
    np.testing.assert_allclose(np.diagonal(fa.get_covariance()), X.var(axis=0))
    np.testing.assert_allclose(fa.components_.T, fa.loadings_ * X.std(axis=0)[:, None])
    np.testing.assert_allclose(fa.get_precision() @ fa.get_covariance(), np.eye(13), atol=1e-9)


@pytest.mark.parametrize("rotation", [None, "varimax", "oblimin"])
def test_sums_of_squared_loadings(rotation):
    X = np.column_stack([load_dataset("wine").X, np.ones(178)])
    fa = quietly(FactorAnalysis(3, rotation=rotation, kaiser=True).fit, X)
    np.testing.assert_allclose(fa.ss_loadings_.sum(), fa.communalities_.sum())
    np.testing.assert_allclose(fa.explained_variance_ratio_, fa.ss_loadings_ / 13)  # of non-constant columns
    if rotation != "oblimin":
        np.testing.assert_allclose(fa.ss_loadings_, np.sum(fa.loadings_**2, axis=0))
    if rotation == "varimax":
        assert np.all(np.diff(fa.ss_loadings_) <= 0)


def test_units_do_not_matter():
    X, _ = sample()
    units = np.geomspace(1e-5, 1e5, 10)
    plain, scaled = FactorAnalysis(3).fit(X), FactorAnalysis(3).fit(X * units)
    np.testing.assert_allclose(scaled.uniquenesses_, plain.uniquenesses_, rtol=1e-6)
    np.testing.assert_allclose(scaled.components_ / units, plain.components_, atol=1e-6)
    np.testing.assert_allclose(scaled.transform(X * units), plain.transform(X), atol=1e-6)


@pytest.mark.parametrize("rotation", [None, "promax"])
def test_scores(rotation):
    X, _ = sample()
    C = X - X.mean(axis=0)
    mean_given_row, unbiased = (
        FactorAnalysis(3, scores=kind, rotation=rotation).fit(X) for kind in ("regression", "bartlett")
    )
    L, Psi, Phi = unbiased.components_.T, np.diag(unbiased.noise_variance_), unbiased.factor_correlation_
    Sigma = L @ Phi @ L.T + Psi
    np.testing.assert_allclose(mean_given_row.transform(X), C @ np.linalg.inv(Sigma) @ L @ Phi, atol=1e-8)
    W = np.linalg.inv(Psi)
    np.testing.assert_allclose(unbiased.transform(X), C @ W @ L @ np.linalg.inv(L.T @ W @ L), atol=1e-8)
    y = np.random.default_rng(0).standard_normal((5, 3))
    np.testing.assert_allclose(unbiased.transform(y @ L.T + X.mean(axis=0)), y, atol=1e-8)  # without noise: exact


def test_the_svd_is_the_noise_free_case():
    """X = UDV' is x = As with S = √n U of unit covariance and A' = DV'/√n: what little noise tends to."""
    rng = np.random.default_rng(0)
    n, d, k = 500, 8, 2
    X = rng.standard_normal((n, k)) @ rng.standard_normal((k, d))
    X -= X.mean(axis=0)
    U, D, Vt = np.linalg.svd(X, full_matrices=False)
    S, A = np.sqrt(n) * U[:, :k], (D[:k, None] * Vt[:k] / np.sqrt(n)).T
    np.testing.assert_allclose(S @ A.T, X, atol=1e-10)
    np.testing.assert_allclose(S.T @ S / n, np.eye(k), atol=1e-10)
    for noise in (3e-2, 3e-3):
        fa = FactorAnalysis(k).fit(X + noise * rng.standard_normal((n, d)))
        np.testing.assert_allclose(fa.components_.T @ fa.components_, A @ A.T, atol=20 * noise)
        turn = np.linalg.lstsq(S, fa.transform(X), rcond=None)[0]
        np.testing.assert_allclose(turn.T @ turn, np.eye(k), atol=20 * noise)  # the same scores, rotated
        np.testing.assert_allclose(S @ turn, fa.transform(X), atol=20 * noise)
    with pytest.warns(DataWarning, match="collinear"):
        exact = FactorAnalysis(k).fit(X)
    np.testing.assert_allclose(exact.components_.T @ exact.components_, A @ A.T, atol=1e-4)
    assert exact.heywood_ == tuple(range(d))


def test_fit_from_a_covariance_alone():
    X, _ = sample()
    S = np.cov(X, rowvar=False, bias=True)
    rows, matrix = FactorAnalysis(3).fit(X), FactorAnalysis(3).fit_covariance(S, len(X), mean=X.mean(axis=0))
    np.testing.assert_allclose(matrix.transform(X), rows.transform(X), atol=1e-6)
    np.testing.assert_allclose(matrix.noise_variance_, rows.noise_variance_, rtol=1e-6)
    assert matrix.bic_ == pytest.approx(rows.bic_)
    assert matrix.fit_test_.p_value == pytest.approx(rows.fit_test_.p_value, rel=1e-6)
    correlation = FactorAnalysis(3).fit_covariance(np.corrcoef(X, rowvar=False), len(X))
    np.testing.assert_allclose(correlation.components_.T, rows.loadings_, atol=1e-6)
    np.testing.assert_array_equal(correlation.mean_, 0)
    more = matrix.partial_fit(X[:100])
    assert more.n_samples_ == 2100


def test_partial_fit_and_weights():
    X, _ = sample(400)
    whole = FactorAnalysis(2).fit(X)
    parts = FactorAnalysis(2).partial_fit(X[:150]).partial_fit(X[150:])
    np.testing.assert_allclose(parts.components_, whole.components_, atol=1e-8)
    np.testing.assert_allclose(parts.score(X), whole.score(X))
    twice = FactorAnalysis(2).fit(X, sample_weight=np.repeat([2, 0], 200))
    np.testing.assert_allclose(twice.components_, FactorAnalysis(2).fit(X[:200]).components_, atol=1e-7)
    assert twice.loglike_[-1] == pytest.approx(2 * FactorAnalysis(2).fit(X[:200]).loglike_[-1])


# --- number of factors and adequacy -----------------------------------------------------------------------------------


def test_how_many_factors():
    X, _ = sample(1000, 15, 3, seed=2)
    for rule in ("parallel", "bic", lowland.rules.ParallelAnalysis(trials=50)):
        fa = FactorAnalysis(rule).fit(X)
        assert fa.n_components_ == fa.choice_.n_components == 3
    assert "BIC" in FactorAnalysis("bic").fit(X).choice_.reason
    bic = FactorAnalysis("bic").fit(X)
    assert bic.bic_ == min(FactorAnalysis(k, n_starts=1).fit(X).bic_ for k in (2, 3, 4)) or np.isclose(
        bic.bic_, FactorAnalysis(3).fit(X).bic_
    )
    fa = FactorAnalysis(3).fit(X)
    parameters = 15 + 15 + 15 * 3 - 3  # means, uniquenesses, loadings, less the rotations
    assert fa.aic_ == pytest.approx(2 * parameters - 2 * fa.loglike_[-1])
    assert fa.bic_ == pytest.approx(np.log(1000) * parameters - 2 * fa.loglike_[-1])
    assert fa.dof_ == 15 * 16 / 2 - (parameters - 15)


def test_adequacy_known_answers():
    r = 0.6
    R = np.array([[1, r], [r, 1]])
    fa = FactorAnalysis(1, min_uniqueness=0.1)
    from lowland.math.factors.adequacy import kmo, sphericity
    from lowland.math.factors.correlations import Correlations

    def of(R):
        return Correlations(R, np.ones(len(R)), 100)

    assert kmo(of(R)).overall == pytest.approx(0.5)  # two columns: the partial correlation is the correlation
    test = sphericity(of(R))
    assert test.statistic == pytest.approx(-(100 - 1 - 9 / 6) * np.log(1 - r**2))
    assert test.dof == 1
    assert sphericity(of(np.eye(4))).p_value == 1.0
    assert kmo(of(np.ones((3, 3)))) is None
    X, _ = sample()
    fa.fit(X)
    assert 0.5 < fa.kmo_.overall < 1
    assert fa.kmo_.columns.shape == (10,)
    noise = quietly(FactorAnalysis(1).fit, np.random.default_rng(0).standard_normal((400, 8)))
    assert noise.kmo_.overall < 0.6
    assert noise.sphericity_.p_value > 1e-3


# --- bounds and bad input ---------------------------------------------------------------------------------------------


def test_heywood_cases_are_bounded_and_reported():
    X = load_dataset("iris").X
    with pytest.warns(DataWarning, match=r"Column 2 is at the lower bound.*Heywood.*fewer factors"):
        fa = FactorAnalysis(1, min_uniqueness=0.005).fit(X)
    assert fa.heywood_ == (2,)
    assert fa.uniquenesses_[2] == pytest.approx(0.005)
    assert np.isfinite(fa.transform(X)).all()


def test_constant_columns():
    X, _ = sample(300)
    wide = np.column_stack([X[:, :4], np.full(len(X), 3.0), X[:, 4:]])
    with pytest.warns(DataWarning, match="Column 4 is constant"):
        fa = FactorAnalysis(2).fit(wide)
    plain = FactorAnalysis(2).fit(X)
    assert fa.constant_ == (4,)
    np.testing.assert_array_equal(fa.components_[:, 4], 0)
    np.testing.assert_allclose(fa.transform(wide), plain.transform(X), atol=1e-8)
    with pytest.raises(DataError, match="All columns are constant"):
        FactorAnalysis(1).fit(np.ones((5, 3)))
    with pytest.warns(DataWarning, match="constant"):
        theirs = sklearn.decomposition.FactorAnalysis(2).fit(wide), FactorAnalysis(2).fit(wide)
    assert theirs[1].loglike_[-1] >= theirs[0].loglike_[-1] - 1e-6 * len(X)


def test_collinear_columns():
    X, _ = sample()
    X = np.column_stack([X, X[:, 0] + X[:, 1]])
    with pytest.warns(DataWarning, match="Columns 0, 1, 10 are perfectly collinear"):
        fa = FactorAnalysis(2).fit(X)
    assert np.isfinite(fa.transform(X)).all()
    assert fa.fit_test_ is None
    assert fa.kmo_ is None
    with pytest.raises(DataError, match="collinear"):
        FactorAnalysis(2).fit_covariance(np.cov(X, rowvar=False), len(X))


def test_more_factors_than_the_degrees_of_freedom_allow():
    X = load_dataset("iris").X
    with pytest.warns(DataWarning, match="FactorAnalysis: ") as reported:
        fa = FactorAnalysis(2).fit(X)
    (words,) = [str(w.message) for w in reported]  # one warning per fit
    assert "not identified with 4 columns (degrees of freedom -1). Choose at most 1." in words
    assert "at the lower bound of the uniqueness (Heywood case)" in words
    assert len(words) < 260
    assert fa.dof_ == -1
    assert fa.fit_test_ is None
    with pytest.raises(ParameterError, match=r"2 factors.*degrees of freedom -1.*at most 1"):
        FactorAnalysis(2).fit_covariance(np.cov(X, rowvar=False), 150)
    with pytest.raises(ParameterError, match="degrees of freedom"):
        FactorAnalysis().fit_covariance(np.cov(X, rowvar=False), 150)
    with pytest.raises(ParameterError, match="at most 4"):
        FactorAnalysis(5).fit(X)


def test_as_many_factors_as_columns_fit_exactly():
    X = load_dataset("wine").X
    fa = FactorAnalysis().fit(X)
    np.testing.assert_allclose(fa.get_covariance(), np.cov(X, rowvar=False, bias=True), rtol=1e-9, atol=1e-9)
    assert fa.n_components_ == 13
    assert fa.score(X) >= sklearn.decomposition.FactorAnalysis().fit(X).score(X) - 1e-9


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda S: S[:3], "3 x 4"),
        (lambda S: S + np.triu(np.ones((4, 4)), 1), r"not symmetric: .*column 0 with column \d is"),
        (lambda S: S - 2 * np.eye(4) * S[0, 0], "variance is not positive"),
        (lambda S: np.where(np.eye(4) > 0, S, 5 * S.max()), "not positive semidefinite.*eigenvalue -"),
        (lambda S: np.where(np.eye(4) > 0, np.nan, S), "NaN"),
        (lambda S: S[[0, 1, 2, 2]][:, [0, 1, 2, 2]], "Columns 2, 3 are perfectly collinear"),
    ],
)
def test_invalid_covariances_are_refused(spoil, words):
    S = np.cov(load_dataset("iris").X, rowvar=False)
    fa = FactorAnalysis(1)
    with pytest.raises(DataError, match=words) as caught:
        fa.fit_covariance(spoil(S), 150)
    assert str(caught.value).endswith(".")
    with pytest.raises(ParameterError, match="at least 2"):
        fa.fit_covariance(S, 1)
    with pytest.raises(ParameterError, match="number of rows"):
        fa.fit_covariance(S, None)
    with pytest.raises(DataError, match="mean"):
        fa.fit_covariance(S, 150, mean=[1.0, 2.0])


@pytest.mark.parametrize(("n", "d", "k"), [(12, 40, 3), (30, 31, 10)])
@pytest.mark.parametrize("method", ["uniqueness", "em"])
def test_fewer_rows_than_columns(n, d, k, method):
    X = np.random.default_rng(0).standard_normal((n, d)) @ np.random.default_rng(1).standard_normal((d, d))
    fa = quietly(FactorAnalysis(k, method=method).fit, X)
    theirs = quietly(sklearn.decomposition.FactorAnalysis(k, svd_method="lapack", max_iter=100).fit, X)
    assert np.isfinite(fa.transform(X)).all()
    assert np.isfinite(fa.loglike_[-1])
    if method == "uniqueness" and k < n - 1:
        assert fa.loglike_[-1] > theirs.score(X) * n - 1e-3 * n


def test_noise_variance_init_must_fit():
    X, _ = sample()
    with pytest.raises(DataError, match="noise_variance_init"):
        FactorAnalysis(2, noise_variance_init=[1.0, 2.0]).fit(X)
    given = FactorAnalysis(2, noise_variance_init=np.ones(10)).fit(X)
    np.testing.assert_allclose(given.noise_variance_, FactorAnalysis(2).fit(X).noise_variance_, rtol=1e-6)
    with pytest.raises(DataError, match=r"negative.*noise_variance_init to one nonnegative variance per column"):
        FactorAnalysis(1, noise_variance_init=[1, 1, -1, 1]).fit(load_dataset("iris").X)


def test_a_covariance_passed_as_rows_gives_a_warning():
    R = np.corrcoef(load_dataset("wine").X, rowvar=False)
    pandas = pytest.importorskip("pandas")
    for given_as in (R, R.astype(np.float32), pandas.DataFrame(R)):
        with pytest.warns(DataWarning, match=r"square and symmetric.*call fit_covariance\(S, n_samples\)") as reported:
            FactorAnalysis(1).fit(given_as)
        assert len([w for w in reported if issubclass(w.category, DataWarning)]) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error", DataWarning)
        FactorAnalysis(1).fit_covariance(R, 178)
        FactorAnalysis().fit(np.random.default_rng(0).standard_normal((8, 8)))
