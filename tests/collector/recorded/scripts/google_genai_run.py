"""google-genai with automatic function calling: google_genai_run.py official|openinference."""

from __future__ import annotations

import json
import os
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from recording import AGENT, QUERY, recording

TURNS: list[list[tuple[str, dict[str, Any]]]] = [
    [("get_weather", {"city": "Oslo"}), ("get_weather", {"city": "Rome"})],
    [("book_hotel", {"city": "Oslo", "nights": 2})],
]


def gemini(rec: Any) -> str:
    """A scripted Gemini server; returns its address."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            turn = sum(1 for content in body["contents"] if content["role"] == "model")
            calls = TURNS[turn] if turn < len(TURNS) else []
            parts: list[Any] = [{"functionCall": {"name": n, "args": a}} for n, a in calls]
            rec.requested += [{"id": None, "tool": n, "arguments": a} for n, a in calls]
            content = {"role": "model", "parts": parts or [{"text": "all done"}]}
            usage = {"promptTokenCount": 5, "candidatesTokenCount": 5, "totalTokenCount": 10}
            answer = {"candidates": [{"content": content, "finishReason": "STOP"}], "usageMetadata": usage}
            data = json.dumps(answer).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_address[1]}"


def main(instrumentation: str) -> None:
    os.environ["OTEL_SEMCONV_STABILITY_OPT_IN"] = "gen_ai_latest_experimental"
    os.environ["OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"] = "SPAN_ONLY"
    with recording() as rec:
        provider = rec.provider()
        if instrumentation == "official":
            from opentelemetry.instrumentation.google_genai import GoogleGenAiSdkInstrumentor

            GoogleGenAiSdkInstrumentor().instrument(tracer_provider=provider)
        else:
            from openinference.instrumentation.google_genai import GoogleGenAIInstrumentor

            GoogleGenAIInstrumentor().instrument(tracer_provider=provider)
        from google import genai

        client = genai.Client(api_key="x", http_options={"base_url": gemini(rec)})
        config: Any = {"tools": rec.tools(), "system_instruction": "Be brief."}
        with provider.get_tracer("app").start_as_current_span(AGENT):
            client.models.generate_content(model="gemini-fake", contents=QUERY, config=config)
        provider.force_flush()
        rec.write(f"{instrumentation}_google_genai", offered=["get_weather", "book_hotel"])


if __name__ == "__main__":
    main(*sys.argv[1:])
