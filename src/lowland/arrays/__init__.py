"""The array library of the data: namespace, device, precision."""
