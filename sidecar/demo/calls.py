"""The calls that minds make, by what they mean."""

from types import MappingProxyType

from sidecar.demo.mind import Call, Tool


def _call(tool: Tool, **arguments: str) -> Call:
    return Call(tool=tool, arguments=MappingProxyType(arguments))


def read(path: str) -> Call:
    """Read a file."""
    return _call(Tool.READ, path=path)


def write(path: str, content: str) -> Call:
    """Write a whole file."""
    return _call(Tool.WRITE, path=path, content=content)


def edit(path: str, old: str, new: str) -> Call:
    """Put a new text in place of an old one, which stands in the file once."""
    return _call(Tool.EDIT, path=path, old=old, new=new)


def search(text: str) -> Call:
    """Find a text in all files."""
    return _call(Tool.SEARCH, text=text)


def run(command: str) -> Call:
    """Run a Python command to its end."""
    return _call(Tool.RUN, command=command)


def start(command: str) -> Call:
    """Start a Python command and let it run."""
    return _call(Tool.START, command=command)


def look() -> Call:
    """See what has become of the job that was started last."""
    return _call(Tool.LOOK)
