"""Incomplete rows: latent linear models by expectation-maximization, NIPALS, and statistics of available cases."""
