"""Tables by format: Parquet, CSV, frames, numpy's files. Each reads its names first, and rows in bounded slabs."""
