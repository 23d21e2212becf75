"""The methods: one file each, all of one manner. ``registry`` knows them without importing them."""
