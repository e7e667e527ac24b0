"""What all tests share.

Property tests try the same examples every time; HYPOTHESIS_PROFILE=exploring looks for new ones.
"""

from __future__ import annotations

import importlib.util
import os
import signal

if importlib.util.find_spec("hypothesis"):  # environments of single frameworks do without
    from hypothesis import settings

    settings.register_profile("repeatable", derandomize=True, deadline=None, database=None)
    settings.register_profile("exploring", deadline=None)
    settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))

# Jobs in the background are started with these ignored, and so would be all programs that tests start.
for number, usual in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, usual)
