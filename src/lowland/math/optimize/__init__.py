"""Iterative minimization: gradient descent, L-BFGS."""
