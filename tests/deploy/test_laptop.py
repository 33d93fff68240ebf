"""The lines of deploy/README.md that take a newcomer to an alert on a laptop are run, as they are.

On a network of their own, since they use the default ports; the lines that install are left out.
"""

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Final

import pytest

from tests.deploy.effective import OUTSIDE
from tests.deploy.manifests import ROOT

PROGRAMS: Final = ("prometheus", "prometheus-alertmanager", "amtool", "unshare", "ip")
MISSING: Final = [name for name in PROGRAMS if shutil.which(name) is None]

pytestmark = [
    pytest.mark.deploy,
    pytest.mark.skipif(
        bool(MISSING), reason=f"no {MISSING}: run scripts/install-test-tools.sh deploy"
    ),
]

README: Final = ROOT / "deploy" / "README.md"
INSTALLS: Final = ["make setup", "scripts/install-test-tools.sh observability"]
LINES_MAX: Final = 10
FIRES_WITHIN_S: Final = 420
"""Its `for` is two minutes, which begin with the first scrape that fails; the rest is the demo."""


def lines(heading: str) -> list[str]:
    """The commands of the first block under a heading, continued ones as one."""
    section = README.read_text().split(f"\n## {heading}\n")[1]
    block = re.search(r"```sh\n(.*?)```", section, re.DOTALL)
    assert block is not None
    return block[1].replace("\\\n", "").splitlines()


@pytest.mark.parametrize("heading", ["On a laptop", "With compose", "On Kubernetes"])
def test_ten_lines_are_enough(heading: str) -> None:
    assert len(lines(heading)) <= LINES_MAX


def test_on_a_laptop_they_lead_to_an_alert(tmp_path: Path) -> None:
    given = lines("On a laptop")
    assert given[:2] == INSTALLS
    script = "\n".join(given[2:]).replace("/tmp/", f"{tmp_path}/")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(OUTSIDE)}
    places = ("XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "TMPDIR")
    alone = ["unshare", "--net", "--pid", "--fork", "--kill-child", "--mount-proc"]
    if os.geteuid() != 0:
        alone.append("--map-root-user")
    done = subprocess.run(
        # As in a terminal, where jobs are known by their numbers.
        [*alone, "bash", "-c", f"ip link set lo up; set -em\n{script}"],
        cwd=ROOT,
        env={**kept, **dict.fromkeys(places, str(tmp_path))},
        capture_output=True,
        text=True,
        timeout=FIRES_WITHIN_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"^SidecarDown .* active", done.stdout, re.MULTILINE), done.stdout
    assert re.search(r"^looper-\S+ .*TRIPPED", done.stdout, re.MULTILINE), done.stdout
