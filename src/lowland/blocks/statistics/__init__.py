"""Mergeable statistics of rows: moments, per class and per fold; sampling, rescaling, labels."""
