"""Estimators of the intrinsic dimension of the rows."""
