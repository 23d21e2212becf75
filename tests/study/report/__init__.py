"""The report: its content, and its behavior in a browser."""
