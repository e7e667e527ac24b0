"""Property tests try the same examples every time; HYPOTHESIS_PROFILE=exploring looks for new ones."""

from __future__ import annotations

import importlib.util
import os

if importlib.util.find_spec("hypothesis"):  # environments of single frameworks do without
    from hypothesis import settings

    settings.register_profile("repeatable", derandomize=True, deadline=None, database=None)
    settings.register_profile("exploring", deadline=None)
    settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))
