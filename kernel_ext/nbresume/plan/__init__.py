"""Pure static analysis: what a cell reads and writes, and its key."""
