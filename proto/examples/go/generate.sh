#!/usr/bin/env bash
# Writes sidecarv1 from proto/sidecar/v1, with protoc from Python's grpcio-tools and the plugins that
# tools/go.mod names.
# usage: generate.sh [OUT_DIR]
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../../.." && pwd)
out=${1:-$here}
python=${PYTHON:-$root/.venv/bin/python}
module=github.com/agent-sidecar/agent-sidecar/proto/examples/go
# The control plane (session_service.proto) is left out: it is not for agents.
files=(run convergence_service answer_service)

plugins=$here/bin/tools
(cd "$here/tools" && GOBIN=$plugins go install tool)

mappings=()
sources=()
for file in "${files[@]}"; do
  # In place of the go_package of the files, which is a path that no Go module has.
  mappings+=("--go_opt=Msidecar/v1/$file.proto=$module/sidecarv1")
  mappings+=("--go-grpc_opt=Msidecar/v1/$file.proto=$module/sidecarv1")
  sources+=("sidecar/v1/$file.proto")
done
mkdir -p "$out"
PATH="$plugins:$PATH" "$python" -m grpc_tools.protoc -I "$root/proto" \
  --go_out="$out" --go_opt="module=$module" \
  --go-grpc_out="$out" --go-grpc_opt="module=$module" \
  "${mappings[@]}" "${sources[@]}"
