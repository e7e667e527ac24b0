// The Vercel AI SDK with its experimental telemetry: vercel.mjs MODEL_URL SINK generate|stream LOG
// The last argument is a file for the tools' own log. Driven by vercel_run.py.
import fs from "node:fs";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { SimpleSpanProcessor } from "@opentelemetry/sdk-trace-base";
import { NodeTracerProvider } from "@opentelemetry/sdk-trace-node";
import { generateText, stepCountIs, streamText, tool } from "ai";
import { z } from "zod";

const [model, script, sink, mode, file, query, agent] = process.argv.slice(2);
const exporter = new OTLPTraceExporter({ url: `${sink}/v1/traces` });
const provider = new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
provider.register();

const log = [];
const now = () => Math.round((performance.timeOrigin + performance.now()) * 1000) * 1000;
const logged = (name, body) => async (given) => {
  const entry = { tool: name, arguments: given, start: now() };
  log.push(entry);
  try {
    entry.result = await body(given);
    return entry.result;
  } catch (error) {
    entry.error = error.message;
    throw error;
  } finally {
    entry.end = now();
  }
};
const tools = {
  get_weather: tool({
    description: "Tell the weather in a city.",
    inputSchema: z.object({ city: z.string() }),
    execute: logged("get_weather", async ({ city }) => {
      await new Promise((done) => setTimeout(done, city === "Oslo" ? 20 : 5));
      return `sunny in ${city}`;
    }),
  }),
  book_hotel: tool({
    description: "Book a hotel in a city.",
    inputSchema: z.object({ city: z.string(), nights: z.number() }),
    execute: logged("book_hotel", async ({ city }) => {
      throw new Error(`no room in ${city}`);
    }),
  }),
};
const request = {
  model: createOpenAICompatible({ name: "fake", baseURL: model, apiKey: "x" })(script),
  tools,
  prompt: query,
  stopWhen: stepCountIs(10),
  maxRetries: 0,
  experimental_telemetry: { isEnabled: true, functionId: agent, metadata: { sessionId: "s-1" } },
};
if (mode === "stream") {
  const result = streamText({ ...request, onError: () => {} });
  for await (const _ of result.fullStream);
} else {
  await generateText(request);
}
await provider.forceFlush();
await provider.shutdown();
fs.writeFileSync(file, JSON.stringify(log));
