"""docs/configuration.md is what the code says."""

import runpy
from pathlib import Path

from click.testing import CliRunner

from sidecar.cli import main
from sidecar.config.given import environment_name
from sidecar.config.keys import KEYS, flag_name
from sidecar.config.load import load
from sidecar.config.policies import POLICY_KEYS
from sidecar.presets import PRESETS
from sidecar.signals import SIGNALS

ROOT = Path(__file__).parent.parent.parent
DOCUMENT = ROOT / "docs" / "configuration.md"


def test_the_document_is_current() -> None:
    script = runpy.run_path(str(ROOT / "scripts" / "render_configuration.py"))
    assert DOCUMENT.read_text("utf-8") == script["render"](), "run scripts/render_configuration.py"


def test_the_document_names_every_key_policy_setting_signal_and_preset() -> None:
    text = DOCUMENT.read_text("utf-8")
    for key in KEYS:
        assert f"| `{key}` |" in text
        assert f"| `{environment_name(key)}` | `{flag_name(key)}` |" in text
    for key in POLICY_KEYS:
        assert f"| `{key}` |" in text
    for signal in SIGNALS:
        assert f"#### {signal.name}\n" in text
    for name in PRESETS:
        assert f"`{name}`" in text


def test_the_help_of_a_ceiling_says_whose_it_is() -> None:
    shown = " ".join(CliRunner().invoke(main, ["serve", "--help"]).output.split())

    assert "--limits-max-turns VALUE Most that any run gets: turns." in shown
    assert "--limits-cost-usd-max VALUE Most that any run gets: US dollars in all." in shown


def test_the_examples_in_the_document_are_accepted(tmp_path: Path) -> None:
    examples = DOCUMENT.read_text("utf-8").split("```yaml\n")[1:]
    assert len(examples) == 2
    for number, example in enumerate(examples):
        path = tmp_path / f"{number}.yaml"
        path.write_text(example.partition("```")[0], encoding="utf-8")
        load(path=str(path), environment={})
