"""The reference agent: it writes Python, runs it contained, and is watched by the sidecar."""
