// Lets a test suite that asks for things by the names of its own test server ask ours: `node relay.mjs URL`.
// It prints its own address, passes everything on, and renames what is asked for, nothing that is answered:
// the suite judges the answers of our server as they are.

import { createServer, request } from "node:http";

const target = new URL(process.argv[2]);

/** What the suite asks for, and what it is here. */
function rename(message) {
  const { method, params } = message;
  if (params?.uri?.startsWith("test://")) {
    params.uri = params.uri.replace("test://", "skill://");
  }
  if (method === "prompts/get" && params.name === "test_prompt_with_arguments") {
    params.name = "use_skill";
    // A skill of the library that this is run with has that name.
    params.arguments = { skill: "testvalue1", request: Object.values(params.arguments).join(" ") };
  }
  if (method === "completion/complete" && params.ref?.name === "test_prompt_with_arguments") {
    params.ref.name = "use_skill";
    params.argument.name = "skill";
  }
  return message;
}

const server = createServer((incoming, outgoing) => {
  const chunks = [];
  incoming.on("data", (chunk) => chunks.push(chunk));
  incoming.on("end", () => {
    let body = Buffer.concat(chunks);
    try {
      body = Buffer.from(JSON.stringify(rename(JSON.parse(body.toString()))));
    } catch {
      // No message: passed on as it is.
    }
    const headers = { ...incoming.headers, host: target.host };
    if (body.length > 0) {
      headers["content-length"] = body.length;
    }
    const { hostname, port, pathname } = target;
    const path = pathname;
    const passed = request({ hostname, port, path, method: incoming.method, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode, answer.headers);
      answer.on("error", () => outgoing.destroy());
      answer.pipe(outgoing);
    });
    // Streams end when either side hangs up.
    passed.on("error", () => outgoing.destroy());
    outgoing.on("error", () => passed.destroy());
    outgoing.on("close", () => passed.destroy());
    passed.end(body);
  });
});
server.listen(0, "127.0.0.1", () => {
  console.log(`http://127.0.0.1:${server.address().port}/mcp`);
});
process.stdin.on("end", () => process.exit(0)).resume();
