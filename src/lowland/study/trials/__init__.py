"""Trials of a study: fitted, timed, cached."""
