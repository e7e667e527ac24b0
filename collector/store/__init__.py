"""Durable state: spans first, then the work they cause, then the verdicts. The only place that knows SQL."""

from __future__ import annotations

from collector.store.engine import Store, open_store
from collector.store.hung import QUICK, Patience

__all__ = ["QUICK", "Patience", "Store", "open_store"]
