#!/usr/bin/env bash
# Builds what manifests are rendered and run by from Go modules: kustomize, Helm, and a collector of
# tests/deploy/collector. Into a cache directory; what is there already is not built again.
#
# usage: scripts/install-deploy-tools.sh kustomize|helm|collector      prints the program's path
set -euo pipefail
cd "$(dirname "$0")/.."

kustomize_version=5.7.1
helm_version=3.18.6
collector=tests/deploy/collector

export PATH="$PWD/.tools/go/bin:$PATH" GOFLAGS=-buildvcs=false CGO_ENABLED=0
if ! command -v go >/dev/null; then
  echo "There is no go here. Run scripts/install-test-tools.sh deploy-full." >&2
  exit 1
fi

name=$1
case "$name" in
  kustomize)
    version=$kustomize_version
    build() { GOBIN=$1 go install -p "$jobs" "sigs.k8s.io/kustomize/kustomize/v5@v$version"; }
    ;;
  helm)
    version=$helm_version
    build() { GOBIN=$1 go install -p "$jobs" "helm.sh/helm/v3/cmd/helm@v$version"; }
    ;;
  collector)
    version=$(cat "$collector"/go.mod "$collector"/main.go | sha256sum | cut -c1-12)
    # Of Prometheus' ways to discover targets only that by a static list is needed; with all of them
    # come the SDKs of a dozen clouds.
    build() { go build -C "$collector" -p "$jobs" -tags remove_all_sd -o "$1/collector" .; }
    ;;
  *)
    echo "unknown tool: $name (kustomize, helm, collector)" >&2
    exit 2
    ;;
esac

jobs=${GOMAXPROCS:-2}
directory=${XDG_CACHE_HOME:-$HOME/.cache}/sidecar-tools/$name-$version
if [ ! -x "$directory/$name" ]; then
  # Into a place of its own first: two of these may run at once.
  place=$(mktemp -d)
  trap 'rm -rf "$place"' EXIT
  build "$place" >&2
  mkdir -p "$directory"
  mv "$place/$name" "$directory/$name"
fi
echo "$directory/$name"
