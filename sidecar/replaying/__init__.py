"""Recorded runs, folded again or sent through a live sidecar."""
