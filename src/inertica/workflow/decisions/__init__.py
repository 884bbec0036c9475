"""What `identify` decides on the data: one file per decision."""
