"""The parts of a running sidecar that listen, answer and watch over its store."""
