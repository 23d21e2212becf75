"""Preparing mixed tables: numbers, booleans, categories, dates and short texts as columns of numbers."""
