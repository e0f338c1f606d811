"""Explicit old-to-new functions, run only by command. Empty until a format changes."""
