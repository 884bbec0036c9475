"""The Frisch scheme: sets of parameters that noise on every variable leaves possible, and a point inside."""
