"""The face inside a kernel: magics and IPython hooks."""
