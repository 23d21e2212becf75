"""Scores of a trial and whether they differ."""
