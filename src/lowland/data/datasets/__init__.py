"""Data sets: generated, shipped, and read from a folder."""
