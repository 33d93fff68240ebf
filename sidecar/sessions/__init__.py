"""Sessions: what surrounds a run while its agent comes and goes."""
