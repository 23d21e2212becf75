"""Nearest neighbors: the graph, exact and approximate search, connected components, ranks."""
