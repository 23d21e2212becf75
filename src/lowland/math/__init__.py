"""Pure functions that turn statistics, graphs and distances into eigenpairs and coordinates."""
