"""The methods, one file each. ``registry`` lists them without importing them."""
