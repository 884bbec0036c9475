"""Estimates of links that could exist: the strategy that methods take as `solve`, and the nearest-prior methods."""
