"""What methods share: the estimator, its parameters, and the maps from rows to coordinates."""
