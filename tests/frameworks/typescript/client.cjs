// The official TypeScript client: `node client.cjs PACKAGES stdio COMMAND...`, or `... http URL`.
// Writes what it was told as one JSON object.
"use strict";
const [packages, way, ...target] = process.argv.slice(2);
const sdk = (name) => require(`${packages}/@modelcontextprotocol/sdk/dist/cjs/${name}.js`);
const { Client } = sdk("client/index");
const { StdioClientTransport } = sdk("client/stdio");
const { StreamableHTTPClientTransport } = sdk("client/streamableHttp");
const types = sdk("types");

async function main() {
  const client = new Client({ name: "typescript", version: "1" }, { capabilities: { sampling: {}, elicitation: {} } });
  client.setRequestHandler(types.CreateMessageRequestSchema, async () => ({
    role: "assistant", model: "m", content: { type: "text", text: "four" },
  }));
  client.setRequestHandler(types.ElicitRequestSchema, async () => ({ action: "accept", content: { name: "Ada" } }));
  const transport = way === "stdio"
    ? new StdioClientTransport({ command: target[0], args: target.slice(1), env: process.env })
    : new StreamableHTTPClientTransport(new URL(target[0]));
  await client.connect(transport);
  const call = (name, args = {}, options = undefined) =>
    client.callTool({ name, arguments: args }, undefined, options);
  const text = async (...given) => (await call(...given)).content.map((part) => part.text).join("\n");
  const said = { progress: [] };
  said.tools = (await client.listTools()).tools.map((tool) => tool.name);
  said.refused = await call("refund", { order: "7" });
  said.verified = await text("verify", { order: "7" });
  said.refunded = await text("refund", { order: "7" });
  said.failed = (await call("boom")).isError;
  said.sampled = await text("think");
  said.elicited = await text("who");
  await call("steps", {}, { onprogress: (one) => said.progress.push(one.progress) });
  said.resource = (await client.readResource({ uri: "note://x" })).contents[0].text;
  said.prompt = (await client.getPrompt({ name: "greet", arguments: { name: "Ada" } })).messages[0].content.text;
  const stop = new AbortController();
  setTimeout(() => stop.abort(), 500);
  said.cancelled = await call("forever", {}, { signal: stop.signal }).then(() => false, () => true);
  await new Promise((resolve) => setTimeout(resolve, 1000));
  said.died = await call("die").then(() => "it lives", (error) => error.message);
  process.stdout.write(JSON.stringify(said));
  await client.close();
}

main().then(() => process.exit(0), (error) => {
  process.stderr.write(`${error.stack}\n`);
  process.exit(1);
});
