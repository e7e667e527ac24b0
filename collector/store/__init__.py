"""Durable state: spans first, then the work they cause, then the verdicts. The only place that knows SQL."""

from __future__ import annotations

from collector.store.engine import Store, open_store

__all__ = ["Store", "open_store"]
