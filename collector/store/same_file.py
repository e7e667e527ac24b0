"""An SQLite store is one file: another that was put in its place is told, and never written to.

What was opened before goes to the old file, whose name is gone; what is opened later would go to the new one.
"""

from __future__ import annotations

import os

from sqlalchemy.engine import URL

from collector.errors import Overloaded

MARK = "file"
"""In the address that a process gives its children: which file that was."""


class SameFile:
    """The file that a store was opened as."""

    def __init__(self, path: str, mark: str | None) -> None:
        self.path, self.mark = path, mark
        """No mark yet: whatever file is there."""

    def remember(self) -> None:
        """From here on it is the file that is there now."""
        self.mark = self.mark or mark_of(self.path)

    def check(self) -> None:
        """Raises Overloaded where another file, or none, has its name; an answer takes some microseconds."""
        if self.mark is None:
            return
        now = mark_of(self.path)
        if now != self.mark:
            what = "was replaced" if now is not None else "is gone"
            said = f"the file {self.path} {what} while this collector runs"
            hint = "put it back, or stop the collector, then `pdoctor restore` and start it again"
            raise Overloaded(said, hint, retry_after=5)


def file_of(address: URL) -> SameFile:
    """The file at the address of an SQLite store."""
    mark = address.query.get(MARK)
    return SameFile(os.path.realpath(str(address.database)), mark if isinstance(mark, str) else None)


def mark_of(path: str) -> str | None:
    """What no other file of this machine has as long as this one is open; None = there is no file."""
    try:
        seen = os.stat(path)
    except OSError:
        return None
    return f"{seen.st_dev:x}-{seen.st_ino:x}"
