"""Pages of a folder and of the web together."""

from sidecar.codeagent.tools.pages import Page, Pages
from sidecar.codeagent.tools.searching import LOCAL


class FolderAndWeb:
    """The port `Pages`: an address below `LOCAL` is the folder's, every other one the web's."""

    def __init__(self, folder: Pages, web: Pages) -> None:
        """Of these."""
        self._folder = folder
        self._web = web

    async def fetch(self, url: str) -> Page:
        """The page. Raises PageMissingError."""
        return await (self._folder if url.startswith(LOCAL) else self._web).fetch(url)
