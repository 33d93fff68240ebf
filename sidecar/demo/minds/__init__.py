"""The scripted minds, one a file."""
