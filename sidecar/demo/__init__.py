"""A fleet of small agents with scripted minds and real work, beside a sidecar of its own."""
