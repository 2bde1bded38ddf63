// The official TypeScript SDK of MCP against our server: `node client.mjs PROGRAM LIBRARY [URL]`.
// Over standard input and output; with a URL over HTTP too. Run where the SDK is installed.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

// Packages are found from the folder that this is run in, not from the one it lies in.
const require = createRequire(join(process.cwd(), "package.json"));
const load = (name) => import(pathToFileURL(require.resolve(name)).href);
const { Client } = await load("@modelcontextprotocol/sdk/client/index.js");
const { StdioClientTransport } = await load("@modelcontextprotocol/sdk/client/stdio.js");
const { StreamableHTTPClientTransport } = await load(
  "@modelcontextprotocol/sdk/client/streamableHttp.js",
);
const { z } = await load("zod");

const REQUEST = "QT 380 at 72 bpm, correct it with the square root";
const BAZETT = "qt-correction/qtc-bazett";

async function talk(transport, name) {
  const client = new Client({ name: "doors", version: "1" }, { capabilities: {} });
  await client.connect(transport);
  assert.equal(client.getServerVersion().name, "fingerpost");
  assert.deepEqual(client.getServerCapabilities().extensions?.["io.modelcontextprotocol/skills"], {
    directoryRead: true,
  });

  const { tools } = await client.listTools();
  assert.deepEqual(
    tools.map((tool) => tool.name),
    ["search_skills", "route_skill", "load_skill", "compare_skills"],
  );
  assert.ok(tools.every((tool) => tool.annotations.readOnlyHint && tool.outputSchema));
  // The client itself checks structured content against the schemas that it has listed.
  const call = async (tool, args) => {
    for (;;) {
      const result = await client.callTool({ name: tool, arguments: args });
      if (!result.isError) return result.structuredContent;
      // The library may still be compiled.
      assert.match(result.content[0].text, /for the first time/);
    }
  };
  const found = await call("search_skills", { request: REQUEST });
  assert.equal(found.cards[0].skill, BAZETT);
  assert.equal((await call("route_skill", { request: REQUEST, detail: true })).skill, BAZETT);
  assert.match((await call("load_skill", { skill: BAZETT })).text, /sqrt\(RR\)/);
  const compared = await call("compare_skills", { first: BAZETT, second: "qtc-hodges" });
  assert.equal(compared.together, true);
  const refused = await client.callTool({ name: "load_skill", arguments: { skill: "nothing" } });
  assert.equal(refused.isError, true);

  const seen = [];
  let cursor;
  do {
    const page = await client.listResources({ cursor });
    seen.push(...page.resources.map((resource) => resource.uri));
    cursor = page.nextCursor;
  } while (cursor);
  const uri = `skill://${BAZETT}/SKILL.md`;
  assert.ok(seen.includes(uri) && seen.length > 100);
  assert.match((await client.readResource({ uri })).contents[0].text, /^---\nname: qtc-bazett\n/);
  await assert.rejects(client.readResource({ uri: "skill://nothing/SKILL.md" }));
  assert.equal((await client.listResourceTemplates()).resourceTemplates.length, 2);
  assert.equal((await client.listPrompts()).prompts.length, 2);
  const prompt = await client.getPrompt({ name: "use_skill", arguments: { skill: BAZETT } });
  assert.equal(prompt.messages[1].content.resource.uri, uri);
  const { completion } = await client.complete({
    ref: { type: "ref/prompt", name: "use_skill" },
    argument: { name: "skill", value: "qtc-b" },
  });
  assert.deepEqual(completion.values, [BAZETT]);
  await client.ping();
  await client.setLoggingLevel("warning");
  await client.subscribeResource({ uri });
  await client.unsubscribeResource({ uri });
  const anything = z.object({}).passthrough();
  const listed = await client.request({ method: "skills/list", params: {} }, anything);
  assert.equal(listed.skills.length, 50);
  const got = await client.request({ method: "skills/get", params: { uri } }, anything);
  assert.equal(got.skill.frontmatter.name, "qtc-bazett");
  await client.close();
  console.log(`  ${name}`);
}

const [program, library, ...urls] = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), "fingerpost-"));
try {
  const env = { ...process.env, HOME: folder, FINGERPOST_ATLAS: join(folder, "atlas") };
  const args = ["mcp", "--library", library];
  await talk(new StdioClientTransport({ command: program, args, env }), "standard input and output");
  for (const url of urls) {
    await talk(new StreamableHTTPClientTransport(new URL(url)), "streamable HTTP");
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
process.exit(0);
