"""What of a span stays here where its content is not to leave: as if the content mode were `none`."""

from __future__ import annotations

from collections.abc import Mapping

import orjson

from . import semconv
from .values import NOT_KEPT
from .wire import AttributeValue

Attributes = Mapping[str, AttributeValue | None]
"""None values are left out."""

_CONTENT = {
    semconv.ASKED_ARGUMENTS,
    semconv.GUARD_REASON,
    semconv.HASH_KEY,
    semconv.INPUT_MESSAGES,
    semconv.OUTPUT_MESSAGES,
    semconv.PROMPT_HASH,
    semconv.TOOL_ARGUMENTS,
    semconv.TOOL_RESULT,
    semconv.TOOL_STATE,
    semconv.TRUNCATED,
    "gen_ai.system_instructions",
}


def without_content(attributes: Attributes) -> Attributes:
    """The attributes of a span in content mode `none`, out of those in any mode."""
    found = {key: value for key, value in attributes.items() if key not in _CONTENT}
    found[semconv.CONTENT] = "none"
    if found.get(semconv.RUN_FACTS) is not None:
        found[semconv.RUN_FACTS] = NOT_KEPT
    if found.get(semconv.TROUBLE_MESSAGE) is not None:
        found[semconv.TROUBLE_MESSAGE] = found.get(semconv.ERROR_TYPE)
    definitions = found.get(semconv.TOOL_DEFINITIONS)
    if isinstance(definitions, bytes) and b'"parameters"' in definitions:
        found[semconv.TOOL_DEFINITIONS] = _without_parameters(definitions)
    return found


def _without_parameters(definitions: bytes) -> bytes:
    kept = [
        {key: value for key, value in tool.items() if key != "parameters"}
        for tool in orjson.loads(definitions)
    ]
    return orjson.dumps(kept)
