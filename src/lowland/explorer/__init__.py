"""The explorer: a page on this machine where a person loads a table, computes maps of it and compares them."""
