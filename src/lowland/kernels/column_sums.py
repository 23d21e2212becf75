"""Column sums of a table in one pass, with a shift subtracted from each row."""

from lowland.kernels.compile import kernel


@kernel
def add_products(X, shift, z, sums, squares, products):
    """Add x - shift, its square and its product with z, for each row, to three sums per column, (d,)."""
    for i in range(X.shape[0]):
        row, w = X[i], z[i]
        for j in range(row.size):
            v = row[j] - shift[j]
            sums[j] += v
            squares[j] += v * v
            products[j] += v * w


@kernel
def add_by_class(X, shift, y, sums, squares):
    """Add x - shift to the sums of the row's class, (C, d), and its square to the sums of the columns, (d,)."""
    for i in range(X.shape[0]):
        row, own = X[i], sums[y[i]]
        for j in range(row.size):
            v = row[j] - shift[j]
            own[j] += v
            squares[j] += v * v
