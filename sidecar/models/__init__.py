"""Calls of models: where they go, what they cost, and what they may cost."""
