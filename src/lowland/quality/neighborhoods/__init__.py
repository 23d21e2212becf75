"""Neighborhood preservation: trustworthiness, continuity, co-ranking."""
