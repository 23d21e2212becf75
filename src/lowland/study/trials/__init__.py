"""The trials of a study: fit, resources, cache and worker process."""
