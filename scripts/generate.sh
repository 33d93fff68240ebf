#!/usr/bin/env bash
# Writes sidecar/v1 from proto/sidecar/v1; tests/assets/test_generated.py holds it to that.
# usage: scripts/generate.sh [OUT_DIR]
set -euo pipefail
cd "$(dirname "$0")/.."
out=${1:-.}
python=${PYTHON:-.venv/bin/python}
mkdir -p "$out/sidecar/v1"
PATH="$(dirname "$python"):$PATH" "$python" -m grpc_tools.protoc -I proto \
  --python_out="$out" --pyi_out="$out" --grpc_python_out="$out" --mypy_grpc_out="$out" \
  proto/sidecar/v1/*.proto
touch "$out/sidecar/v1/__init__.py"
