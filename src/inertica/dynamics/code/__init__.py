"""A robot's dynamics as programs that need nothing else: which functions, and their text in C and Python."""
