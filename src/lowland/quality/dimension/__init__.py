"""Intrinsic dimension of the rows."""
