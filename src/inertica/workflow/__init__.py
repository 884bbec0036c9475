"""The jobs users name: identify with its automatic choices, Result."""
