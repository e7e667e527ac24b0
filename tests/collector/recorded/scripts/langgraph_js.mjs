// Record LangGraph JS under OpenInference: copy this file into a folder with the npm packages @langchain/core,
// @langchain/langgraph, @arizeai/openinference-instrumentation-langchain, @opentelemetry/api,
// @opentelemetry/sdk-trace-base and zod, and run there: node langgraph_js.mjs OUTPUT_FOLDER
import { writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { LangChainInstrumentation } from "@arizeai/openinference-instrumentation-langchain";
import * as callbacks from "@langchain/core/callbacks/manager";
import { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { AIMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { createReactAgent } from "@langchain/langgraph/prebuilt";
import { trace } from "@opentelemetry/api";
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-base";
import { z } from "zod";

const query = "What is the weather in Oslo and Rome? Then book a hotel in Oslo.";
const requested = [
  [{ id: "call_0_0", name: "get_weather", args: { city: "Oslo" } }, { id: "call_0_1", name: "get_weather", args: { city: "Rome" } }],
  [{ id: "call_1_0", name: "find_flight", args: { city: "Oslo" } }],
  [{ id: "call_2_0", name: "book_hotel", args: { city: "Oslo", nights: 2 } }],
];
const exporter = new InMemorySpanExporter();
const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
trace.setGlobalTracerProvider(provider);
new LangChainInstrumentation({ tracerProvider: provider }).manuallyInstrument(callbacks);

class Scripted extends BaseChatModel {
  at = 0;
  _llmType() { return "scripted"; }
  bindTools() { return this; }
  async _generate() {
    const calls = requested[this.at++];
    const message = calls
      ? new AIMessage({ content: "", tool_calls: calls.map((call) => ({ ...call, type: "tool_call" })) })
      : new AIMessage({ content: "All done." });
    return { generations: [{ text: message.content, message }] };
  }
}

const executed = [];
const now = () => (BigInt(Date.now()) * 1000000n).toString();
const logged = (name, fields, work) =>
  tool(async (given) => {
    const entry = { tool: name, arguments: given, start: now() };
    executed.push(entry);
    await sleep(20);
    try {
      return (entry.result = work(given));
    } catch (problem) {
      entry.error = problem.message;
      throw problem;
    } finally {
      entry.end = now();
    }
  }, { name, description: name, schema: z.object(fields) });
const refuse = () => { throw new Error("no room in Oslo"); };
const tools = [
  logged("get_weather", { city: z.string() }, ({ city }) => `sunny in ${city}`),
  logged("book_hotel", { city: z.string(), nights: z.number() }, refuse),
];
const agent = createReactAgent({ llm: new Scripted({}), tools, name: "travel_agent" });
await agent.invoke({ messages: [{ role: "user", content: query }] });

const ns = ([seconds, rest]) => (BigInt(seconds) * 1000000000n + BigInt(rest)).toString();
const anonymous = (text) => text.replaceAll(/file:\/\/[^\s)]*\/(node_modules\/)?/g, "file:///app/$1");
const value = (said) => typeof said === "number" ? { intValue: String(said) }
  : typeof said === "boolean" ? { boolValue: said } : { stringValue: anonymous(String(said)) };
const pairs = (said) => Object.entries(said ?? {}).map(([key, one]) => ({ key, value: value(one) }));
const spans = exporter.getFinishedSpans();
const told = spans.map((span) => ({
  traceId: span.spanContext().traceId,
  spanId: span.spanContext().spanId,
  parentSpanId: span.parentSpanContext?.spanId,
  name: span.name,
  kind: span.kind + 1,
  startTimeUnixNano: ns(span.startTime),
  endTimeUnixNano: ns(span.endTime),
  attributes: pairs(span.attributes),
  status: { code: span.status.code, message: anonymous(span.status.message ?? "") },
  events: span.events.map((event) => ({ name: event.name, timeUnixNano: ns(event.time), attributes: pairs(event.attributes) })),
}));
const scope = spans[0].instrumentationScope;
const resource = { attributes: pairs({ "telemetry.sdk.language": "nodejs", "service.name": "unknown_service:node" }) };
const exported = { resourceSpans: [{ resource, scopeSpans: [{ scope: { name: scope.name, version: scope.version }, spans: told }] }] };
const log = {
  query,
  offered: ["get_weather", "book_hotel"],
  requested: requested.flat().map(({ id, name, args }) => ({ id, tool: name, arguments: args })),
  executed,
};
const written = JSON.stringify(log, null, 1).replaceAll(/"(start|end)": "(\d+)"/g, '"$1": $2');
writeFileSync(`${process.argv[2]}/openinference_langgraph_js.json`, JSON.stringify(exported));
writeFileSync(`${process.argv[2]}/openinference_langgraph_js.log.json`, `${written}\n`);
