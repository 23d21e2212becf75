"""Execution: threads or a Dask cluster, with progress, a memory budget and cancellation."""
