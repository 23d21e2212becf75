"""Code books: self-organizing maps and k-means."""
