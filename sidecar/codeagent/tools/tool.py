"""A tool, and the box in which a run has them."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeVar

import msgspec

from sidecar.codeagent.runner.step import ToolRefused, ToolSpec

T = TypeVar("T")


class Tool(Protocol):
    """One function that code can call."""

    @property
    def spec(self) -> ToolSpec:
        """How code sees it."""
        ...

    async def call(self, arguments: Mapping[str, Any], content: bytes | None) -> Any:
        """What it gives back. `content` is that of the file that the spec names a parameter for.
        Raises ToolRefused."""
        ...


class Box:
    """The tools of a run, by name."""

    def __init__(self, tools: Sequence[Tool]) -> None:
        """Those, in the order in which a model is told of them."""
        self._tools = {tool.spec.name: tool for tool in tools}

    @property
    def specs(self) -> Sequence[ToolSpec]:
        """Each of them."""
        return [tool.spec for tool in self._tools.values()]

    async def call(self, name: str, arguments: Mapping[str, Any], content: bytes | None) -> Any:
        """Call one. Raises ToolRefused."""
        tool = self._tools.get(name)
        if tool is None:
            raise ToolRefused(f"{name[:64]}: no such tool; there are {', '.join(self._tools)}")
        return await tool.call(arguments, content)


def checked(arguments: Mapping[str, Any], kind: type[T]) -> T:
    """The arguments as that type. Raises ToolRefused."""
    try:
        return msgspec.convert(dict(arguments), kind)
    except msgspec.ValidationError as error:
        raise ToolRefused(str(error)) from error


def file_content(content: bytes | None) -> bytes:
    """The content of a file that came with a call. Raises ToolRefused."""
    if content is None:
        raise ToolRefused("the file's content did not come with the call")
    return content
