"""Data sets to learn, test and measure with: classics, generators whose truth is known, real sets from a folder."""
