"""The report: what it is told, what it shows, and how it behaves in a browser."""
