"""Feature selection and feature clustering: filters, subset search, lasso, trees."""
