"""What is said and done, reduced to what can be compared: digests, fingerprints, kinds."""
