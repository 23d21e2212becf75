"""Scores of a trial, and whether two scores differ significantly."""
