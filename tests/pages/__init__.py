"""The pages: how their modules are joined, and the shared view in a browser."""
