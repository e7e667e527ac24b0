"""Errors of the `synth` package; each message says what came, what was expected and what to do."""

from __future__ import annotations


class SynthError(Exception):
    """Base class of every error that `synth` raises on purpose."""

    exit_code = 2
    """That of the verb of `pdoctor` which it ends."""


class BadInput(SynthError):
    """Outside input that cannot be used: a case, a run record, a policy file, a paragraph.

    `file`, `line` (1-based) and `field` say where, as far as they are known; the CLI prints them
    and exits with 2.
    """

    def __init__(
        self, message: str, *, file: str | None = None, line: int | None = None, field: str | None = None
    ) -> None:
        super().__init__(message)
        self.message, self.file, self.line, self.field = message, file, line, field

    def at(self, *, file: str | None = None, line: int | None = None) -> BadInput:
        """The same error with the place filled in where it was unknown."""
        return type(self)(self.message, file=self.file or file, line=self.line or line, field=self.field)

    def __str__(self) -> str:
        place = ":".join(str(part) for part in (self.file, self.line) if part is not None)
        where = [place] if place else []
        if self.field:
            where.append(f"field {self.field}")
        return f"{', '.join(where)}: {self.message}" if where else self.message


class MissingExtra(SynthError):
    """A feature needs packages of an extra that is not installed."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} needs the extra '{extra}': pip install 'pdoctor-trace[{extra}]'")
        self.extra = extra
