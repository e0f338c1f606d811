"""Bytes on durable media: the only layer that touches the disk; it never unpickles."""
