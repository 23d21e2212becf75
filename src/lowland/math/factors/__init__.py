"""Factor analysis: maximum likelihood, rotations, adequacy."""
