"""Whether each client would be published as it lies there: its folder has all that goes with it."""

import json

import pytest

from tests.clients.languages import LANGUAGES, ROOT

LICENCE = (ROOT / "LICENSE").read_text("utf-8")


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_licence_is_in_the_folder(language: str) -> None:
    folder = LANGUAGES[language].folder
    left_out = (folder / ".gitignore").read_text("utf-8").splitlines()

    assert (folder / "LICENSE").read_text("utf-8") == LICENCE
    assert "LICENSE" not in left_out


def test_no_script_of_the_package_for_node_reaches_out_of_its_folder() -> None:
    package = json.loads((LANGUAGES["typescript"].folder / "package.json").read_text("utf-8"))

    assert [each for each in package["scripts"].values() if "../" in each] == []
