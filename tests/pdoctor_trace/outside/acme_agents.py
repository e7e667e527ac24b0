"""A small agent framework of somebody else: a loop over Chat Completions, sync and async."""

import asyncio
import json
import typing
import urllib.request


class Agent:
    def __init__(self, url, model, tools, name="acme"):
        self.url, self.model, self.name = url, model, name
        self.tools = {tool.__name__: tool for tool in tools}

    def run(self, query):
        messages = [{"role": "user", "content": query}]
        while (asked := self._next(messages)) is not None:
            for one in asked:
                messages.append(self._answer(one, self.call(one)))
        return messages[-1]["content"]

    async def arun(self, query):
        messages = [{"role": "user", "content": query}]
        while (asked := await asyncio.to_thread(self._next, messages)) is not None:
            for one in asked:
                messages.append(self._answer(one, await self.acall(one)))
        return messages[-1]["content"]

    def ask(self, messages):
        """One reply of the model."""
        offered = [{"type": "function", "function": {"name": name}} for name in self.tools]
        body = json.dumps({"model": self.model, "messages": messages, "tools": offered}).encode()
        head = {"Content-Type": "application/json"}
        request = urllib.request.Request(f"{self.url}/chat/completions", body, head)
        with urllib.request.urlopen(request) as response:
            return json.loads(response.read())["choices"][0]["message"]

    def call(self, asked):
        """What the model is told of one call that it asked for."""
        try:
            return str(self.use(*self._prepared(asked)))
        except Exception as error:
            return f"error: {error}"

    async def acall(self, asked):
        try:
            return str(await self.ause(*self._prepared(asked)))
        except Exception as error:
            return f"error: {error}"

    def use(self, tool, given):
        return tool(**given)

    async def ause(self, tool, given):
        return await tool(**given)

    def _next(self, messages):
        messages.append(self.ask(messages))
        return messages[-1].get("tool_calls")

    def _answer(self, asked, text):
        return {"role": "tool", "tool_call_id": asked["id"], "content": text}

    def _prepared(self, asked):
        """The tool and its arguments; LookupError for an unknown one, ValueError where they do not fit."""
        tool = self.tools.get(asked["function"]["name"])
        if tool is None:
            raise LookupError("no such tool")
        given, wanted = json.loads(asked["function"]["arguments"]), typing.get_type_hints(tool)
        if not isinstance(given, dict) or any(type(given[name]) is not wanted.get(name) for name in given):
            raise ValueError("the arguments do not fit")
        return tool, given
