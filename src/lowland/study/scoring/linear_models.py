"""Linear models on held-out rows: multinomial logistic regression and ridge regression, on standardized columns.

Both have the penalty |w|²/2 on the coefficients, as scikit-learn's defaults. Small problems are solved for all folds
at once by Newton's method; larger ones by scikit-learn, fold by fold.
"""

from __future__ import annotations

import warnings

import numpy as np

Fold = tuple[np.ndarray, np.ndarray]  # indices of the training rows and of the held-out rows

MAX_ITER = 50
TOLERANCE = 1e-4  # largest change of a coefficient at which Newton's method ends
NEWTON_UP_TO = 128  # coefficients, classes included
RIDGE = 1.0
_INTERCEPT_RIDGE = 1e-8  # the intercepts of all classes may be shifted together


def _designs(Z: np.ndarray, folds: list[Fold]) -> list[np.ndarray]:
    """The rows of each fold, standardized by its training rows, (n, p).

    More columns than rows are standardized once, and rotated to as many columns as rows: a rotation changes neither the
    penalty nor the predictions.
    """
    if Z.shape[1] <= len(Z):
        return [_scaled(Z, train) for train, _ in folds]
    U, s, _ = np.linalg.svd(_scaled(Z, np.arange(len(Z))), full_matrices=False)
    return [U * s] * len(folds)


def held_out_probabilities(Z: np.ndarray, y: np.ndarray, n_classes: int, folds: list[Fold]) -> np.ndarray:
    """Return the class probabilities of the held-out rows of every fold, (n, C), by logistic regression on Z."""
    designs = _designs(Z, folds)
    if (designs[0].shape[1] + 1) * n_classes <= NEWTON_UP_TO:
        return _by_newton(designs, y, n_classes, folds)
    return _by_scikit_learn(designs, y, n_classes, folds)


def _scaled(Z: np.ndarray, train: np.ndarray) -> np.ndarray:
    """All rows, standardized by the means and standard deviations of the training rows."""
    mean, spread = Z[train].mean(axis=0), Z[train].std(axis=0)
    return (Z - mean) / np.where(spread > 0, spread, 1.0)


def _by_newton(designs: list[np.ndarray], y: np.ndarray, C: int, folds: list[Fold]) -> np.ndarray:
    """Newton's method for all folds at once: arrays of shape (folds, rows, columns)."""
    n, F = len(y), len(folds)
    seen = np.zeros((F, n, 1))
    for f, (train, _) in enumerate(folds):
        seen[f, train] = 1.0
    A = np.stack([np.column_stack([design, np.ones(n)]) for design in designs])  # (F, n, p)
    Y, p = np.eye(C)[y], A.shape[2]
    weight = np.full((p, C), RIDGE)
    weight[-1] = _INTERCEPT_RIDGE
    W = np.zeros((F, p, C))
    P, loss = _probabilities(A, W, Y, seen, weight)
    for _ in range(MAX_ITER):
        G = A.transpose(0, 2, 1) @ (seen * (P - Y)) + weight * W
        step = np.linalg.solve(_hessian(A, P, seen, weight), G.reshape(F, -1, 1)).reshape(F, p, C)
        size = np.ones((F, 1, 1))
        P, new_loss = _probabilities(A, W - step, Y, seen, weight)
        while np.any(higher := new_loss > loss + 1e-9 * np.abs(loss)) and size.min() > 1e-3:
            size[higher] /= 2
            P, new_loss = _probabilities(A, W - size * step, Y, seen, weight)
        W, loss = W - size * step, new_loss
        if np.abs(size * step).max() < TOLERANCE:
            break
    found = np.empty((n, C))
    for f, (_, test) in enumerate(folds):
        found[test] = P[f, test]
    return found


def _probabilities(
    A: np.ndarray, W: np.ndarray, Y: np.ndarray, seen: np.ndarray, weight: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The class probabilities, (F, n, C), and the penalized loss of the training rows, (F,)."""
    S = A @ W
    S -= S.max(axis=2, keepdims=True)
    E = np.exp(S)
    total = E.sum(axis=2, keepdims=True)
    loss = (seen * (np.log(total) - (S * Y).sum(axis=2, keepdims=True))).sum(axis=(1, 2))
    return E / total, loss + (weight * W * W).sum(axis=(1, 2)) / 2


def _hessian(A: np.ndarray, P: np.ndarray, seen: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """The second derivatives, (F, p C, p C): A' diag(P_a [a = b] - P_a P_b) A for each pair of classes a, b."""
    (F, n, p), C = A.shape, P.shape[2]
    B = (A[:, :, :, None] * P[:, :, None, :]).reshape(F, n, p * C)
    H = -(B.transpose(0, 2, 1) @ (seen * B))
    own = (seen * A).transpose(0, 2, 1)
    blocks = H.reshape(F, p, C, p, C)
    for c in range(C):
        blocks[:, :, c, :, c] += own @ (A * P[:, :, c : c + 1])
    H[:, np.arange(p * C), np.arange(p * C)] += weight.reshape(-1)
    return H


def _by_scikit_learn(designs: list[np.ndarray], y: np.ndarray, C: int, folds: list[Fold]) -> np.ndarray:
    from sklearn.linear_model import LogisticRegression

    found = np.zeros((len(y), C))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the accuracy hardly changes in the last iterations
        for A, (train, test) in zip(designs, folds, strict=True):
            model = LogisticRegression(max_iter=2 * MAX_ITER).fit(A[train], y[train])
            found[np.ix_(test, model.classes_)] = model.predict_proba(A[test])
    return found


def held_out_predictions(Z: np.ndarray, y: np.ndarray, folds: list[Fold]) -> np.ndarray:
    """Return the predictions for the held-out rows of every fold, (n,), by ridge regression on Z."""
    found = np.empty(len(Z))
    for A, (train, test) in zip(_designs(Z, folds), folds, strict=True):
        mean = y[train].mean()
        G = A[train].T @ A[train]
        G[np.diag_indices_from(G)] += RIDGE
        found[test] = mean + A[test] @ np.linalg.solve(G, A[train].T @ (y[train] - mean))
    return found
