"""Figures of merit, cross-validation, residual statistics."""
