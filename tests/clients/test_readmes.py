"""The lines that a newcomer copies from a README, as they stand, are accepted by the compiler."""

import json
import os
import re
from pathlib import Path

import pytest

from tests.clients.languages import ROOT, Language, said_by

pytestmark = pytest.mark.clients

GO_MODULE = "github.com/agent-sidecar/agent-sidecar/proto/examples/go"
AROUND_GO = """package main

import (
	"context"

	sidecar "{module}"
	"{module}/sidecarv1"
)

func turns(
	ctx context.Context, calls []*sidecarv1.ToolCall, usage *sidecarv1.Usage, answered bool,
) (messages []string) {{
{lines}
	return messages
}}

func main() {{ turns(context.Background(), nil, nil, true) }}
"""
AROUND_TYPESCRIPT = """import {{ Client, RunOutcome }} from "agent-sidecar-client";
import type {{ ReportedCall }} from "agent-sidecar-client";
declare const toolCalls: ReportedCall[];
declare const text: string;
declare const messages: {{ role: string; content: string }}[];
declare let answered: boolean;
{{
{lines}
}}
"""
AROUND_JAVA = """
import io.agentsidecar.client.*;
import io.agentsidecar.v1.*;
import java.util.List;

class Snippet {{
  static void turns(List<ToolCall> calls, Usage usage, List<String> messages) {{
{lines}
  }}
}}
"""


def readmes(language: Language) -> list[Path]:
    return [ROOT / "README.md", language.folder / "README.md"]


def first_block(readme: Path, fence: str) -> str:
    found = re.search(
        rf"^```{fence}\n(.*?)^```$", readme.read_text("utf-8"), re.MULTILINE | re.DOTALL
    )
    assert found is not None, f"{readme} has no block of {fence}"
    return found[1]


def test_those_in_go(go: Language, tmp_path: Path) -> None:
    for number, readme in enumerate(readmes(go)):
        source = tmp_path / f"{number}.go"
        source.write_text(AROUND_GO.format(module=GO_MODULE, lines=first_block(readme, "go")))
        # A file in the module, of which only the compiler is told.
        placed = {str(go.folder / f"readme{number}" / "main.go"): str(source)}
        overlay = tmp_path / "overlay.json"
        overlay.write_text(json.dumps({"Replace": placed}))
        build = ("go", "-C", go.folder, "build", "-buildvcs=false", "-o", os.devnull)
        said_by(*build, f"-overlay={overlay}", f"./readme{number}")


def test_those_in_typescript(typescript: Language, tmp_path: Path) -> None:
    modules = typescript.folder / "node_modules"
    sources = []
    for number, readme in enumerate(readmes(typescript)):
        lines = re.sub(r"^import .*$", "", first_block(readme, "ts"), flags=re.MULTILINE)
        source = tmp_path / f"readme{number}.mts"
        source.write_text(AROUND_TYPESCRIPT.format(lines=lines))
        sources.append(source.name)
    package = json.loads((typescript.folder / "package.json").read_text("utf-8"))
    options = {
        "extends": str(typescript.folder / "tsconfig.json"),
        "compilerOptions": {
            "noEmit": True,
            "rootDir": "/",
            "typeRoots": [str(modules / "@types")],
            "paths": {package["name"]: [str(typescript.folder / package["exports"]["."]["types"])]},
        },
        "include": sources,
    }
    (tmp_path / "tsconfig.json").write_text(json.dumps(options))
    said_by(modules / ".bin" / "tsc", "--project", tmp_path)


def test_those_in_java(java: Language, tmp_path: Path) -> None:
    dependencies = (java.folder / "target" / "class-path").read_text("utf-8").strip()
    class_path = os.pathsep.join((str(java.folder / "target" / "classes"), dependencies))
    for number, readme in enumerate(readmes(java)):
        folder = tmp_path / str(number)
        folder.mkdir()
        source = folder / "Snippet.java"
        source.write_text(AROUND_JAVA.format(lines=first_block(readme, "java")))
        said_by("javac", "-Xlint:all", "-d", folder, "-cp", class_path, source)
