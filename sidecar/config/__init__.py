"""What an operator sets: keys with types and ranges, where their values come from, and policies."""
