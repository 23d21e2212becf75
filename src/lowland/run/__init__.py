"""How the work is done: on one thread, on many, on a cluster; with progress, a budget, and a way to stop."""
