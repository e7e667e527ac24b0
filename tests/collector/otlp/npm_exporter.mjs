// Send spans with the npm OpenTelemetry exporter of one transport: npm_exporter.mjs http|proto|grpc URL gzip|none
import { SpanStatusCode } from "@opentelemetry/api";
import { BatchSpanProcessor, BasicTracerProvider } from "@opentelemetry/sdk-trace-base";
import { resourceFromAttributes } from "@opentelemetry/resources";

const [kind, url, compression] = process.argv.slice(2);
const { OTLPTraceExporter } = await import(`@opentelemetry/exporter-trace-otlp-${kind}`);
const exporter = new OTLPTraceExporter({ url, compression });
const provider = new BasicTracerProvider({
  resource: resourceFromAttributes({ "service.name": "npm", "list": ["a", "b"], "flag": true }),
  spanProcessors: [new BatchSpanProcessor(exporter)],
});
const tracer = provider.getTracer("npm-agent", "1.0");
const ids = [];
for (let n = 0; n < 50; n++) {
  const span = tracer.startSpan(`execute_tool tool${n}`, {
    root: true,
    attributes: {
      "gen_ai.operation.name": "execute_tool",
      "gen_ai.tool.name": `tool${n}`,
      "gen_ai.tool.call.arguments": JSON.stringify({ n, text: "ö \u0000 €" }),
      "big": 2 ** 53, "half": 0.5, "list": [1, 2.5], "mixed": ["x", "y"], "off": false,
    },
  });
  span.addEvent("said", { words: 3 });
  if (n % 2) span.setStatus({ code: SpanStatusCode.ERROR, message: `broken ${n}` });
  span.end();
  ids.push(span.spanContext().traceId);
}
await provider.forceFlush();
await provider.shutdown();
console.log(JSON.stringify(ids));
