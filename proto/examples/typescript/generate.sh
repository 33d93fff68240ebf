#!/usr/bin/env bash
# Writes src/gen from proto/sidecar/v1 and what it needs of google/rpc.
# usage: generate.sh [OUT_DIR]
set -euo pipefail
cd "$(dirname "$0")"
out=$(realpath -m "${1:-.}")
template=$(sed "s|out: src/gen|out: '$out/src/gen'|" buf.gen.yaml)
[ -d node_modules ] || npm install --no-save --no-audit --no-fund --silent
rm -rf "$out/src/gen"
npx --no-install buf generate ../.. --template "$template" --path ../../sidecar/v1/run.proto \
  --path ../../sidecar/v1/convergence_service.proto
npx --no-install buf generate ../../third_party --config '{"version": "v2"}' --template "$template"
