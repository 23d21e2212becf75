"""File formats: Parquet, CSV, data frames, numpy files. Each reads the column names first, then rows in slabs."""
