"""The HTTP API under /api/v1, health and metrics."""
