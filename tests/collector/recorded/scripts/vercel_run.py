"""Record the Vercel AI SDK: vercel_run.py FOLDER_WITH_NODE_MODULES [generate|stream].

The folder holds the npm packages ai, @ai-sdk/openai-compatible, zod, @opentelemetry/sdk-trace-node,
@opentelemetry/sdk-trace-base and @opentelemetry/exporter-trace-otlp-http; the exporter sends OTLP/JSON.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

from recording import AGENT, HERE, QUERY, STORY, recording


def main(folder: str, mode: str = "generate") -> None:
    home = Path(folder).resolve()
    with recording() as rec:
        program, log = home / "vercel.mjs", home / "calls.json"
        shutil.copy(HERE / "vercel.mjs", program)
        said = [rec.models.openai, STORY, rec.sink, mode, str(log), QUERY, AGENT]
        subprocess.run(["node", str(program), *said], cwd=home, check=True, timeout=60)
        rec.private.append(str(home))
        rec.executed = json.loads(log.read_text())
        rec.write(f"vercel_{mode}", offered=["get_weather", "book_hotel"])


if __name__ == "__main__":
    main(*sys.argv[1:])
