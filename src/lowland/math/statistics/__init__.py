"""Mergeable statistics of rows: moments, by class and by fold; sampling, rescaling, class labels."""
