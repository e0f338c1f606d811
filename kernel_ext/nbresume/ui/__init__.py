"""Thin faces: parse, call, show. The only layer that knows Jupyter."""
