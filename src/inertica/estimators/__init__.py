"""Problem -> Estimate: the identification methods."""
