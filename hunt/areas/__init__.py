"""One file per area."""
