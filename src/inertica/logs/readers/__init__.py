"""Readers of log files: one file per format, each gives the columns of a file as a `Table`."""
