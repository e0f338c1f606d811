"""Use cases: the sequence, positions, claims, recovery."""
