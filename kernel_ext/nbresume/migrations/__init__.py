"""Explicit old-to-new functions, run only by command."""
