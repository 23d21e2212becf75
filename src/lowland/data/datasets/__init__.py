"""Example data sets: classics, generators with known ground truth, and real data from a folder."""
