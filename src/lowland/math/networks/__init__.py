"""Autoencoders: layers, mini-batches, training."""
