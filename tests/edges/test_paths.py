"""Where sockets and files are when nobody says, and whose a directory is."""

import os
from pathlib import Path

import pytest

from sidecar import paths


def test_sockets_are_in_the_runtime_directory_and_state_in_the_state_directory() -> None:
    environment = {"XDG_RUNTIME_DIR": "/run/user/7", "XDG_STATE_HOME": "/s", "HOME": "/h"}

    assert paths.agent_socket(environment) == Path("/run/user/7/sidecar/agent.sock")
    assert paths.admin_socket(environment) == Path("/run/user/7/sidecar/admin.sock")
    assert paths.state_directory(environment) == Path("/s/sidecar")
    assert paths.state_directory({"HOME": "/h"}) == Path("/h/.local/state/sidecar")
    assert paths.cache_directory({"XDG_CACHE_HOME": "/c", "HOME": "/h"}) == Path("/c/sidecar")
    assert paths.cache_directory({"HOME": "/h"}) == Path("/h/.cache/sidecar")


@pytest.mark.parametrize("given", [{}, {"XDG_RUNTIME_DIR": ""}, {"XDG_RUNTIME_DIR": "relative"}])
def test_without_a_runtime_directory_one_of_the_user_s_own_stands_in(given: dict[str, str]) -> None:
    own = Path(f"/tmp/sidecar-{os.getuid()}")

    assert paths.runtime_directory(given) == own
    assert paths.state_directory(given) == own / "state"
    assert paths.cache_directory(given) == own / "cache"


def test_a_private_directory_is_made_with_mode_0700_and_taken_again(tmp_path: Path) -> None:
    directory = tmp_path / "a" / "b"
    paths.make_private(directory)
    paths.make_private(directory)

    assert directory.stat().st_mode & 0o777 == 0o700
    assert paths.is_private(directory)


def test_a_directory_of_anybody_s_is_not_private(tmp_path: Path) -> None:
    opened = tmp_path / "open"
    opened.mkdir()
    opened.chmod(0o755)
    own = tmp_path / "own"
    own.mkdir(mode=0o700)
    link = tmp_path / "link"
    link.symlink_to(own)

    assert not paths.is_private(opened)
    assert not paths.is_private(link)
    assert not paths.is_private(tmp_path / "missing")
    opened.chmod(0o777)
    with pytest.raises(PermissionError):
        paths.make_private(opened)
