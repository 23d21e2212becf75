"""What a browser shows: the shared view of linked maps, and pages built on it. Plain ES modules, no dependencies."""
