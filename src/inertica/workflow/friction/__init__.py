"""Friction with memory."""
