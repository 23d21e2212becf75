"""Non-Gaussian directions: ICA and projection pursuit."""
