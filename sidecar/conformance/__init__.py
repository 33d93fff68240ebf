"""Holds clients, and other implementations of the service, to the tables in proto/conformance."""
