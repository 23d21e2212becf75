"""Eigenproblems: operators, leading and trailing eigenpairs, principal axes, how many components to keep."""
