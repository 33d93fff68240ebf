"""One long-lived, contained Python interpreter for each run."""
