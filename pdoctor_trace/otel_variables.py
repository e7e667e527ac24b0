"""What the variables of OpenTelemetry mean for the record path.

They come in three kinds. What describes the program or asks for silence holds for both paths: the service
name, the resource attributes, the disabled SDK, the list of disabled instrumentations, context and baggage,
and that no content is to be captured, unless `PDOCTOR_CONTENT` says otherwise.
What says how to send is taken over here, unless a variable of ours says otherwise: timeout, compression,
longest attribute. What says where the host's spans go and which of them (endpoint, headers, exporter,
sampler, batches, limits of counts) holds for the spans in the host's own provider only: records always go
to `PDOCTOR_ENDPOINT`, all of them, and the keys of another back end are never sent there.
"""

from __future__ import annotations

from collections.abc import Mapping

LONGEST_TIMEOUT = 60.0
"""Seconds; who wrote milliseconds, as other languages' SDKs read them, does not wait for hours."""
COMPRESSIONS = ("none", "gzip", "deflate")
CONTENT_ON_SPANS = ("span_only", "span_and_event", "true")
"""Values of the variable about content that ask for it on spans; any other but none at all keeps it back."""


def defaults(environ: Mapping[str, str]) -> dict[str, str]:
    """Values for our own variables that the ones of OpenTelemetry imply; unusable ones are passed over."""
    found = {
        "PDOCTOR_CONTENT": _content(_first(environ, "INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT")),
        "PDOCTOR_TIMEOUT": _timeout(_first(environ, "EXPORTER_OTLP_TRACES_TIMEOUT", "EXPORTER_OTLP_TIMEOUT")),
        "PDOCTOR_COMPRESSION": _compression(
            _first(environ, "EXPORTER_OTLP_TRACES_COMPRESSION", "EXPORTER_OTLP_COMPRESSION")
        ),
        "PDOCTOR_MAX_VALUE_BYTES": _length(
            _first(environ, "SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT", "ATTRIBUTE_VALUE_LENGTH_LIMIT")
        ),
    }
    return {name: value for name, value in found.items() if value}


def _first(environ: Mapping[str, str], *names: str) -> str:
    """The more particular variable wins; an empty one counts as not set."""
    return next((value for name in names if (value := environ.get(f"OTEL_{name}", "").strip())), "")


def _content(text: str) -> str:
    return "" if not text or text.lower() in CONTENT_ON_SPANS else "none"


def _timeout(text: str) -> str:
    try:
        seconds = float(text)
    except ValueError:
        return ""
    return str(min(seconds, LONGEST_TIMEOUT)) if seconds > 0 else ""


def _compression(text: str) -> str:
    return text.lower() if text.lower() in COMPRESSIONS else ""


def _length(text: str) -> str:
    """Never more than what we keep anyway."""
    return str(min(int(text), 65_536)) if text.isascii() and text.isdigit() and int(text) else ""
