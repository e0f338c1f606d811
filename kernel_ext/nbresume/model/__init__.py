"""Pure values: envelope, records, states, codec."""
