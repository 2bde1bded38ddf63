"""The official Python client of MCP against our server: `client.py PROGRAM LIBRARY [URL]`.

Over standard input and output, by both lifecycles of the protocol; with a URL over HTTP too.
"""

import asyncio
import hashlib
import os
import sys
import tempfile
from pathlib import Path

import jsonschema
from mcp import Client, MCPError, StdioServerParameters, stdio_client
from mcp_types import (
    PromptReference,
    Request,
    RequestParams,
    ResourceTemplateReference,
    Result,
)
from pydantic import ConfigDict

REQUEST = "QT 380 at 72 bpm, correct it with the square root"
BAZETT = "qt-correction/qtc-bazett"


async def talk(server, mode: str) -> None:
    async with Client(server, mode=mode) as client:
        assert client.server_info.name == "fingerpost", client.server_info
        assert "search_skills" in client.instructions
        capabilities = client.server_capabilities
        assert capabilities.tools and capabilities.resources and capabilities.prompts
        assert capabilities.extensions["io.modelcontextprotocol/skills"] == {"directoryRead": True}

        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert list(tools) == ["search_skills", "route_skill", "load_skill", "compare_skills"]
        for tool in tools.values():
            assert tool.annotations.read_only_hint and not tool.annotations.destructive_hint
            jsonschema.Draft202012Validator.check_schema(tool.input_schema)
            jsonschema.Draft202012Validator.check_schema(tool.output_schema)

        async def call(name: str, **arguments):
            # The client itself checks structured content against the schema. The library may still be compiled.
            while True:
                result = await client.call_tool(name, arguments)
                if not result.is_error:
                    break
                assert "for the first time" in result.content[0].text, result
            jsonschema.validate(result.structured_content, tools[name].output_schema)
            return result.structured_content

        found = await call("search_skills", request=REQUEST, limit=3)
        assert found["cards"][0]["skill"] == BAZETT and len(found["cards"]) == 3
        assert "use qtc-hodges" in found["cards"][0]["not_for"]
        assert (await call("search_skills", request="thanks, that was great!"))["cards"] == []
        assert (await call("route_skill", request=REQUEST))["skill"] == BAZETT
        assert "sqrt(RR)" in (await call("load_skill", skill=BAZETT))["text"]
        compared = await call("compare_skills", first=BAZETT, second="qtc-fridericia", detail=True)
        assert compared["together"] and "cube" in compared["words"]["second"]
        refused = await client.call_tool("load_skill", {"skill": "nothing"})
        assert refused.is_error

        seen, cursor = [], None
        while True:
            page = await client.list_resources(cursor=cursor)
            seen += [str(resource.uri) for resource in page.resources]
            cursor = page.next_cursor
            if cursor is None:
                break
        assert len(seen) == len(set(seen)) > 100, len(seen)
        uri = f"skill://{BAZETT}/SKILL.md"
        assert uri in seen
        text = (await client.read_resource(uri)).contents[0].text
        assert text.startswith("---\nname: qtc-bazett\n")
        try:
            await client.read_resource("skill://nothing/SKILL.md")
            raise AssertionError("a skill that is not there was read")
        except MCPError as error:
            assert error.error.code in (-32002, -32602), error
        templates = (await client.list_resource_templates()).resource_templates
        assert len(templates) == 2

        prompts = {prompt.name for prompt in (await client.list_prompts()).prompts}
        assert prompts == {"choose_skill", "use_skill"}
        prompt = await client.get_prompt("choose_skill", {"request": REQUEST})
        assert "qtc-bazett" in prompt.messages[1].content.text
        completion = await client.complete(
            PromptReference(name="use_skill"), {"name": "skill", "value": "qtc-b"}
        )
        assert completion.completion.values == [BAZETT]
        completion = await client.complete(
            ResourceTemplateReference(uri="skill://{+skill}/{+file}"),
            {"name": "file", "value": ""},
            context_arguments={"skill": BAZETT},
        )
        assert completion.completion.values == ["SKILL.md"]
        if client.protocol_version < "2026-07-28":
            await client.send_ping()
            await client.set_logging_level("warning")
            await client.subscribe_resource(uri)
            await client.unsubscribe_resource(uri)

        await skills(client, uri, text)
        print(f"  {mode}: protocol {client.protocol_version}")


class Params(RequestParams):
    """Parameters of a method that the client does not know."""

    model_config = ConfigDict(extra="allow")


class Anything(Result):
    """What such a method answers."""

    model_config = ConfigDict(extra="allow")


async def skills(client: Client, uri: str, text: str) -> None:
    """Skills over MCP, by plain requests: the client has no methods for them."""

    async def ask(method: str, **params):
        request = Request(method=method, params=Params(**params))
        return (await client.session.send_request(request, Anything)).model_dump(by_alias=True)

    listed = await ask("skills/list")
    assert len(listed["skills"]) == 50 and listed["nextCursor"]
    entry = (await ask("skills/get", uri=uri))["skill"]
    assert entry["frontmatter"]["name"] == "qtc-bazett"
    digest = "sha256:" + hashlib.sha256(text.encode()).hexdigest()
    assert entry["resources"] == [{"uri": uri, "digest": digest, "size": len(text.encode())}]
    children = await ask("resources/directory/read", uri=uri.removesuffix("/SKILL.md"))
    assert [child["name"] for child in children["resources"]] == ["SKILL.md"]


async def main() -> None:
    program, library, *urls = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "HOME": folder, "FINGERPOST_ATLAS": str(Path(folder) / "atlas")}
        arguments = ["mcp", "--library", library]
        for mode in ("legacy", "auto"):
            server = StdioServerParameters(command=program, args=arguments, env=environment)
            await asyncio.wait_for(talk(stdio_client(server), mode), 120)
    for url in urls:
        for mode in ("legacy", "auto"):
            await asyncio.wait_for(talk(url, mode), 120)


asyncio.run(main())
