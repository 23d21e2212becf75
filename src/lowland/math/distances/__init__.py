"""Distances and kernel functions: of rows to points, of all pairs, of sparse rows."""
