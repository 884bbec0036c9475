"""Recorded logs with frozen splits, and programs that identify from them: `inertica benchmark`."""
