"""Values to payloads: the only layer that pickles."""
