"""One method on one table: parameters that suit it, the fit, the scores, and the cache of results."""
