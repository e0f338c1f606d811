"""nbresume beside its peers, in real kernels that are really killed, in one run."""
