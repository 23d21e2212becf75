"""Methods on incomplete rows: theory, two routes, and what a user sees."""

import copy
import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.impute import KNNImputer
from sklearn.utils import get_tags

import lowland
from lowland import PCA, TSNE, FactorAnalysis, FeatureFilter, LinearDiscriminantAnalysis
from lowland.errors import DataError, DataWarning, ParameterError

REFERENCES = Path(__file__).parent / "references"


def subspace_error(A, B):
    """Sine of the largest angle between the row spaces of A and B."""
    Q, R = np.linalg.qr(A.T)[0], np.linalg.qr(B.T)[0]
    return float(np.linalg.norm(R - Q @ (Q.T @ R), 2))


def factors(n=3000, d=20, k=3, seed=0):
    """Rows of a probabilistic PCA model, and its loadings, (k, d)."""
    rng = np.random.default_rng(seed)
    W = rng.standard_normal((k, d)) * np.array([2.0, 1.5, 1.0])[:k, None]
    return rng.standard_normal((n, k)) @ W + rng.standard_normal((n, d)) + 7, W


def holes(X, fraction=0.2, seed=1):
    X = np.array(X, dtype=X.dtype)
    X[np.random.default_rng(seed).random(X.shape) < fraction] = np.nan
    return X


# --- PCA ---


def test_with_nothing_missing_it_is_pca():
    X, _ = factors(500)
    plain, found = PCA(3).fit(X), PCA(3, missing="em").fit(X)
    np.testing.assert_allclose(found.components_, plain.components_, atol=1e-12)
    assert found.missing_fraction_ == 0
    np.testing.assert_allclose(found.transform(X), plain.transform(X), atol=1e-10)


def test_one_missing_value_changes_little():
    """The iteration itself, not the direct solver, agrees with PCA to the influence of one cell of 40,000."""
    X, _ = factors(2000)
    Y = X.copy()
    Y[5, 3] = np.nan
    plain, found = PCA(3).fit(X), PCA(3, missing="em").fit(Y)
    np.testing.assert_allclose(found.components_, plain.components_, atol=1e-3)
    np.testing.assert_allclose(found.explained_variance_, plain.explained_variance_, rtol=1e-3)
    np.testing.assert_allclose(found.explained_variance_ratio_, plain.explained_variance_ratio_, rtol=2e-3)
    assert found.noise_variance_ == pytest.approx(plain.noise_variance_, rel=1e-2)


def test_all_components_are_orthonormal_and_a_fraction_chooses_fewer():
    X = holes(factors(300, d=6)[0])
    full, fraction = PCA(missing="em").fit(X), PCA(0.5, missing="em").fit(X)
    np.testing.assert_allclose(full.components_ @ full.components_.T, np.eye(6), atol=1e-10)
    assert fraction.n_components_ < 6
    assert "explain" in fraction.choice_.reason


def test_scaled_columns_do_not_depend_on_units():
    X, units = holes(factors(300)[0]), np.geomspace(1e-3, 1e3, 20)
    a, b = (PCA(3, scale=True, missing="em").fit(Y) for Y in (X, X * units))
    np.testing.assert_allclose(a.components_, b.components_, atol=1e-5)
    np.testing.assert_allclose(a.transform(X), b.transform(X * units), atol=1e-4)


def test_a_duplicated_row_without_values_changes_nothing():
    X = holes(factors(300)[0])
    with pytest.warns(DataWarning, match="no value"):
        found = PCA(3, missing="em").fit(np.vstack([X, np.full((1, 20), np.nan)]))
    plain = PCA(3, missing="em").fit(X)
    np.testing.assert_allclose(found.components_, plain.components_, atol=1e-8)
    assert found.n_samples_ == 300


def test_it_recovers_the_subspace_and_beats_mean_imputation():
    """20% missing at random: as near to the true subspace as complete rows, almost; mean imputation is far off."""
    X, W = factors(4000)
    W = W * np.linspace(0.3, 3, 20)  # unequal columns: mean imputation shrinks and rotates
    rng = np.random.default_rng(3)
    X = rng.standard_normal((4000, 3)) @ W + rng.standard_normal((4000, 20))
    driver = X[:, [19]]
    Y = np.where(rng.random(X.shape) < 0.6 / (1 + np.exp(-driver)), np.nan, X)  # depends on an observed column: MAR
    Y[:, 19] = X[:, 19]
    complete, em = PCA(3).fit(X), PCA(3, missing="em").fit(Y)
    mean = PCA(3).fit(np.where(np.isnan(Y), np.nanmean(Y, axis=0), Y))
    errors = [subspace_error(W, each.components_) for each in (complete, em, mean)]
    assert errors[1] < 2 * errors[0]
    assert errors[1] < errors[2] / 4  # by a factor of four at least
    np.testing.assert_allclose(em.mean_, X.mean(axis=0), atol=0.25)
    bias = np.abs(np.nanmean(Y, axis=0) - X.mean(axis=0)).max()
    assert np.abs(em.mean_ - X.mean(axis=0)).max() < bias / 3


def test_the_imputed_values_are_near_the_best_possible():
    """Their error approaches the noise of the model, with standard deviation 1."""
    X, _ = factors(3000)
    Y = holes(X)
    gone = np.isnan(Y)
    model = PCA(3, missing="em").fit(Y)
    rms = np.sqrt(np.mean((model.impute(Y) - X)[gone] ** 2))
    knn = np.sqrt(np.mean((KNNImputer().fit_transform(Y[:500]) - X[:500])[gone[:500]] ** 2))
    mean = np.sqrt(np.mean((np.nanmean(Y, axis=0) - X)[gone] ** 2))
    assert rms < 1.25
    assert rms < knn < mean


def test_transform_is_the_projection_of_the_imputed_row():
    X = holes(factors(400)[0])
    model = PCA(3, missing="em").fit(X)
    filled = model.impute(X)
    np.testing.assert_allclose(model.transform(X), (filled - model.mean_) @ model.components_.T, atol=1e-9)
    assert np.array_equal(filled[~np.isnan(X)], X[~np.isnan(X)])
    with pytest.warns(DataWarning, match="no value"):
        assert np.abs(model.transform(np.full((1, 20), np.nan))).max() < 1e-10


def test_the_score_is_the_likelihood_at_which_em_stopped():
    X = holes(factors(400)[0])
    model = PCA(3, missing="em").fit(X)
    n = len(X)
    assert model.score(X) * n == pytest.approx(model.solver_.trace[-1], rel=1e-4)  # PCA divides by n - 1, not by n
    assert model.n_iter_ == model.solver_.iterations > 1


def test_weights_count_repetitions():
    X = holes(factors(60, d=6)[0])
    w = np.random.default_rng(0).integers(0, 4, 60)
    a = PCA(2, missing="em", tol=1e-10).fit(X, sample_weight=w)
    b = PCA(2, missing="em", tol=1e-10).fit(np.repeat(X, w, axis=0))
    np.testing.assert_allclose(a.components_, b.components_, atol=1e-6)
    np.testing.assert_allclose(a.explained_variance_, b.explained_variance_, rtol=1e-6)


def test_files_chunks_and_dask_agree_with_the_array(tmp_path):
    X = holes(factors(900, d=6)[0])
    pd.DataFrame(X, columns=list("abcdef")).to_csv(tmp_path / "x.csv", index=False)
    whole = PCA(2, missing="em").fit(X)
    parts = [PCA(2, missing="em").fit(tmp_path / "x.csv"), PCA(2, missing="em").fit([X[:500], X[500:]])]
    dask = pytest.importorskip("dask.array")
    parts.append(PCA(2, missing="em").fit(dask.from_array(X, chunks=(300, 6))))
    for part in parts:
        np.testing.assert_allclose(part.components_, whole.components_, atol=1e-6)
    Z = parts[-1].transform(dask.from_array(X, chunks=(300, 6)))
    np.testing.assert_allclose(np.asarray(Z), whole.transform(X), atol=1e-5)


def test_float32_and_model_files(tmp_path):
    X = holes(factors(500)[0]).astype(np.float32)
    model = PCA(3, missing="em").fit(X)
    assert model.components_.dtype == model.transform(X).dtype == np.float32
    lowland.save(model, tmp_path / "m.lowland")
    again = lowland.load(tmp_path / "m.lowland")
    assert np.array_equal(again.transform(X), model.transform(X))
    assert np.array_equal(again.impute(X), model.impute(X))


def test_a_data_frame_is_imputed_as_one():
    frame = pd.DataFrame(holes(factors(100, d=4)[0]), columns=list("abcd"), index=np.arange(100) + 5)
    filled = PCA(2, missing="em").fit(frame).impute(frame)
    assert list(filled.columns) == list("abcd")
    assert filled.index.equals(frame.index)
    assert not filled.isna().any().any()


def test_a_column_without_values_is_named():
    frame = pd.DataFrame(holes(factors(50, d=4)[0]), columns=list("abcd")).assign(c=np.nan)
    with pytest.raises(DataError, match=r"'c'.*every value is missing"):
        PCA(2, missing="em").fit(frame)


def test_infinity_is_refused_and_the_remedy_for_nan_is_named():
    X = holes(factors(50)[0])
    with pytest.raises(DataError, match=r"NaN.*missing='em'.*lowland\.impute"):
        PCA(2).fit(X)
    X[3, 2] = np.inf
    with pytest.raises(DataError, match=r"infinity \(1 value\) in column 2") as error:
        PCA(2, missing="em").fit(X)
    assert "NaN" not in str(error.value)
    with pytest.raises(ParameterError, match="missing='em'"):
        PCA(2).fit(factors(50)[0]).impute(X)
    assert get_tags(PCA(missing="em")).input_tags.allow_nan
    assert not get_tags(PCA()).input_tags.allow_nan


@pytest.mark.parametrize("as_frame", [False, True])
def test_the_remedy_for_infinity_works(as_frame):
    """It is a command, with X the table: infinity itself cannot be imputed."""
    X = factors(50)[0]
    X[3, 2] = np.inf
    X = pd.DataFrame(X, columns=[f"c{j}" for j in range(X.shape[1])]) if as_frame else X
    with pytest.raises(DataError, match=r"infinity \(1 value\)") as error:
        PCA(2).fit(X)
    command = re.search(r"lowland\.impute\(.*'mean'\)", str(error.value))[0]
    PCA(2).fit(eval(command, {"lowland": lowland, "np": np, "X": X}))
    with pytest.raises(DataError, match="infinity") as error:
        TSNE(metric="nan_euclidean", perplexity=5, max_iter=10).fit(X)
    assert "impute" not in str(error.value)
    command = re.search(r"np\.where\(.*X\)", str(error.value))[0]
    TSNE(metric="nan_euclidean", perplexity=5, max_iter=10).fit(eval(command, {"np": np, "X": X}))


def test_statsmodels_finds_the_same_subspace():
    """statsmodels.multivariate.pca.PCA(X, 2, missing="fill-em", standardize=False, tol_em=1e-10, max_em_iter=2000).

    It alternates imputation and projection, around the means of the observed values, which are not the most likely
    ones. The reference was made with statsmodels 0.14 from 60 rows of two factors, with noise of 0.02.
    """
    stored = json.loads((REFERENCES / "statsmodels_fill_em.json").read_text())
    X = np.array([[np.nan if v is None else v for v in row] for row in stored["X"]])
    theirs, truth = np.array(stored["components"]), np.array(stored["loadings"])
    em = PCA(2, missing="em").fit(X).components_
    assert subspace_error(theirs, em) < 0.05
    assert subspace_error(truth, em) < 0.01
    assert subspace_error(truth, em) < subspace_error(truth, theirs) / 5


# --- factor analysis ---


def test_factors_of_complete_rows_are_the_same():
    X, _ = factors(400, d=8, k=2)
    np.testing.assert_array_equal(
        FactorAnalysis(2, missing="em").fit(X).components_, FactorAnalysis(2).fit(X).components_
    )


def test_factors_maximize_the_likelihood_of_the_observed_values():
    rng = np.random.default_rng(0)
    W, psi = rng.standard_normal((2, 7)), rng.uniform(0.3, 2, 7)
    X = holes(rng.standard_normal((1500, 2)) @ W + rng.standard_normal((1500, 7)) * np.sqrt(psi) + 3)
    model = FactorAnalysis(2, missing="em").fit(X)
    assert model.loglike_[-1] == pytest.approx(model.score(X) * len(X), abs=1e-3)
    np.testing.assert_allclose(model.get_covariance(), W.T @ W + np.diag(psi), atol=0.4)
    best = model.score(X)
    for j in range(6):  # no noise variance nearby is more likely; the seventh is at its bound
        for factor in (0.97, 1.03):
            other = copy.deepcopy(model)
            other.noise_variance_ = model.noise_variance_ * np.where(np.arange(7) == j, factor, 1.0)
            assert other.score(X) < best
    assert model.fit_test_.dof == 8
    assert model.fit_test_.p_value > 1e-3
    assert model.sphericity_.p_value < 1e-10
    assert FactorAnalysis("parallel", missing="em").fit(X).n_components_ == 2


def test_factor_scores_of_incomplete_rows_are_conditional_means():
    rng = np.random.default_rng(0)
    W = rng.standard_normal((2, 6))
    X = holes(rng.standard_normal((500, 2)) @ W + 0.5 * rng.standard_normal((500, 6)))
    model = FactorAnalysis(2, missing="em", rotation="oblimin").fit(X)
    Z = model.transform(X)
    L, psi, phi = model.components_.T, model.noise_variance_, model.factor_correlation_
    for i in (0, 1, 17):
        o = ~np.isnan(X[i])
        S = L[o] @ phi @ L[o].T + np.diag(psi[o])
        np.testing.assert_allclose(Z[i], phi @ L[o].T @ np.linalg.solve(S, X[i, o] - model.mean_[o]), atol=1e-8)
    assert np.isfinite(model.impute(X)).all()
    with pytest.raises(DataError, match="missing='em'"):
        FactorAnalysis(2).fit(X)


# --- available cases ---


def labelled(seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, 600)
    X = rng.standard_normal((600, 6)) + np.eye(3, 6)[y] * 2
    return X, y


@pytest.mark.filterwarnings("ignore::lowland.errors.DataWarning")
def test_a_column_is_scored_by_its_available_cases():
    X, y = labelled()
    Y = holes(X, 0.1)
    found = FeatureFilter("anova", n_features_to_select=3, missing="available").fit(Y, y)
    from sklearn.feature_selection import f_classif

    for j in range(6):
        kept = ~np.isnan(Y[:, j])
        F, p = f_classif(Y[kept][:, [j]], y[kept])
        assert found.scores_[j] == pytest.approx(F[0], rel=1e-9)
        assert found.pvalues_[j] == pytest.approx(p[0], rel=1e-6, abs=1e-300)
    assert found.get_support(indices=True).tolist() == [0, 1, 2]
    np.testing.assert_array_equal(found.transform(Y), Y[:, :3])
    information = FeatureFilter("mutual-information", missing="available", random_state=0).fit(Y, y)
    assert information.get_support(indices=True).tolist() == [0, 1, 2]


def test_available_cases_are_announced_and_refused_by_default():
    X, y = labelled()
    Y = holes(X, 0.1)
    for method in (FeatureFilter, LinearDiscriminantAnalysis):
        with pytest.raises(DataError, match="missing='available'"):
            method().fit(Y, y)
        with pytest.warns(DataWarning, match="available cases"):
            method(missing="available").fit(Y, y)
        plain = method().fit(X, y)
        np.testing.assert_array_equal(method(missing="available").fit(X, y).transform(X), plain.transform(X))


def test_discriminants_of_available_cases():
    X, y = labelled()
    Y = holes(X, 0.15)
    with pytest.warns(DataWarning, match="available"):
        found = LinearDiscriminantAnalysis(missing="available", store_covariance=True).fit(Y, y)
    plain = LinearDiscriminantAnalysis(store_covariance=True).fit(X, y)
    for c in range(3):
        np.testing.assert_allclose(found.means_[c], np.nanmean(Y[y == c], axis=0), rtol=1e-10)
    E = Y - found.means_[y]
    both = ~np.isnan(E[:, 0]) & ~np.isnan(E[:, 4])
    assert found.covariance_[0, 4] == pytest.approx(np.mean(E[both, 0] * E[both, 4]), abs=1e-10)
    assert subspace_error(plain.scalings_[:, :2].T, found.scalings_[:, :2].T) < 0.2
    assert found.score(Y, y) > 0.75 * plain.score(X, y)
    assert np.isfinite(found.transform(Y)).all()
    with pytest.raises(DataError, match=r"Class 1.*column 2"):
        LinearDiscriminantAnalysis(missing="available").fit(
            np.where((y == 1)[:, None] & (np.arange(6) == 2), np.nan, X), y
        )


# --- lowland.impute ---


def test_impute_replaces_only_what_is_missing():
    X, _ = factors(200)
    Y = holes(X, 0.1)
    gone = np.isnan(Y)
    for how, expected in (
        ("mean", np.nanmean(Y, axis=0)), ("median", np.nanmedian(Y, axis=0)), ("knn", None), ("em", None),
    ):  # fmt: skip
        filled = lowland.impute(Y, how)
        assert np.array_equal(filled[~gone], Y[~gone])
        assert np.isfinite(filled).all()
        if expected is not None:
            np.testing.assert_allclose(filled[gone], np.broadcast_to(expected, Y.shape)[gone])
    np.testing.assert_allclose(lowland.impute(Y, "knn", n_neighbors=3), KNNImputer(n_neighbors=3).fit_transform(Y))
    np.testing.assert_allclose(lowland.impute(Y, "em", n_components=3), PCA(3, missing="em").fit(Y).impute(Y))
    with pytest.raises(ParameterError, match="mean"):
        lowland.impute(Y, "meen")


def test_impute_says_what_it_did_and_keeps_frames():
    from lowland.missing_values import imputation

    frame = pd.DataFrame({"a": [1.0, np.nan, 3.0], "b": [1.0, 2.0, 6.0]}, index=list("xyz"))
    found = imputation(frame, "median")
    assert found.table.loc["y", "a"] == 2
    assert found.counts.tolist() == [1, 0]
    assert "1 missing value" in found.message
    dropped = lowland.drop_missing(frame)
    assert dropped.table.index.tolist() == ["x", "z"]
    assert "1 of 3 rows" in dropped.message
    with pytest.raises(DataError, match=r"'a'.*missing"):
        lowland.impute(frame.assign(a=np.nan))
