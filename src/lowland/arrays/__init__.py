"""The array library in use: which one, on which device, in which precision."""
