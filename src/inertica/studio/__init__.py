"""The studio: the whole workflow in a browser, on top of the public Python calls; needs the extra `inertica[studio]`."""
