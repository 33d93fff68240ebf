"""The sidecar as an MCP server: one sidecar session for each process or HTTP session."""
