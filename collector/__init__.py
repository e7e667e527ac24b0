"""Collects OTLP traces, rebuilds agent runs and decides whether their plans kept the constraints."""
