"""Whether the answer to a call says that a person did not let its tool run.

Loops that show a call to a person, and run no tool where that says no, answer the model in words of their
own: nothing on the wire tells this from a result. Usual English words do, where they stand at the beginning
of a short answer, or of what its JSON calls an error, a message, a reason or a status. They make it doubtful
that the tool ran, never certain that it did not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import orjson

LONGEST = 400
"""Characters: who says no is brief."""
_WHO = (
    r"(?:the |a |our |your )?(?:human |end )?"
    r"(?:user|human|operator|person|reviewer|approver|admin|administrator)"
)
_NO = (
    r"(?:(?:reject|den[iy]|declin|refus|disapprov|veto|cancel|abort|disallow|block)\w*"
    r"|(?:did not|didn't|does not|doesn't|has not|hasn't|was not|wasn't|is not|isn't|not) (?:"
    r"(?:approve|allow|confirm|authori[sz]e|permit|accept|grant)\w*"
    r"|want to proceed(?: with)?|give (?:permission|approval)))"
)
_TOOL = r"(?:tool|function)(?: (?:call|use|execution|run|invocation|request))?"
_CALL = rf"(?:{_TOOL}|call|use|execution|run|request|action|operation|command|step|permission|approval)"
_THE_CALL = rf"(?:(?:the|this|that|your) )?(?:{_CALL}|[\w`'\"-]+ (?:(?:tool|function) )?(?:call|execution))\b"
_WAS = r"(?:was |has been |is |got )?"
_END = r"(?=\s*(?:$|[.,;:!(\n-]))"
_WAYS = (
    rf"{_WHO} (?:has |have )?{_NO}(?:{_END}| to (?:run|execute|allow|approve|call|use)\b| {_THE_CALL})",
    rf"{_WHO} said no{_END}",
    rf"(?:(?:the |this |that |your )?{_CALL} )?{_WAS}{_NO} by {_WHO}\b",
    rf"(?:the |this |that |your )?(?:{_TOOL}|approval|confirmation) {_WAS}{_NO}{_END}",
)
_ASKING = {"ask", "human", "prompt", "question", "confirm", "confirmation", "approval"}
"""Words in the name of a tool whose result is what a person says."""


def says_no(tool: str, content: Any) -> bool:
    """Whether this answer says that a person did not let that tool run."""
    return any(_said_no(text) for text in _texts(content)) and not _ASKING & _words(tool)


def _words(name: str) -> set[str]:
    return {word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+", name)}


def _said_no(text: str) -> bool:
    return _pattern().match(text) is not None


@cache
def _pattern() -> re.Pattern[str]:
    """Compiled when it is needed, which few programs ever do."""
    return re.compile(rf"(?:error:? |sorry, )?(?:{'|'.join(_WAYS)})", re.IGNORECASE)


def _texts(content: Any) -> Iterator[str]:
    if type(content) is list and content and type(content[0]) is dict:  # blocks of a message
        content = content[0].get("text")
    if type(content) is not str or len(content) > LONGEST:
        return
    text = content.strip()
    if text[:1] != "{":
        yield text
        return
    try:
        said = orjson.loads(text)
    except ValueError:
        return
    for key in ("error", "message", "reason", "status"):
        if type(said.get(key)) is str:
            yield said[key]
