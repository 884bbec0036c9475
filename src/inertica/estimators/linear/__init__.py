"""Methods that are linear in the parameters: rows of measured motion, weighed in different ways."""
