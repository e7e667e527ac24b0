"""Run pytest; what failed beside other tests is run once more alone, and is told either way.

    python -m tests.again PYTEST-ARGUMENTS...

Two workers on two cores disturb one another: a browser that answers late, a database that starts slowly.
What passes only alone is named, because that is a fault of the test; more than a few failures, an interrupted
run and an error of pytest's own are final at once.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

AT_MOST = 3
FAILED = 1
"""pytest's exit code where tests ran and some failed."""


def pytest(*arguments: str, cache: Path) -> int:
    return subprocess.call([sys.executable, "-m", "pytest", "-o", f"cache_dir={cache}", *arguments])


def last_failed(cache: Path) -> list[str]:
    """Ids of the tests that failed in the last run."""
    found = cache / "v" / "cache" / "lastfailed"
    return sorted(json.loads(found.read_text())) if found.exists() else []


def main(arguments: Sequence[str]) -> int:
    """pytest's exit code: that of the first run, or 0 where each of a few failed tests passes alone."""
    with tempfile.TemporaryDirectory() as folder:
        cache = Path(folder)
        code = pytest(*arguments, cache=cache)
        failed = last_failed(cache)
        if code != FAILED or not failed:
            return code
        if len(failed) > AT_MOST:
            print(f"\n{len(failed)} tests failed; more than {AT_MOST} are not tried again", flush=True)
            return code
        print(f"\nonce more, alone: {len(failed)} that failed beside others", flush=True)
        alone = pytest(*arguments, "-n", "0", "--last-failed", cache=cache)
        verdict = "passes only alone" if alone == 0 else "failed"
        for test in failed:
            print(f"{verdict}: {test}", flush=True)
        return alone


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
