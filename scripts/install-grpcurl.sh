#!/usr/bin/env bash
# Builds grpcurl from its Go module into a cache directory, and prints the path of the program. By it
# a test replays the session that docs/admin.md shows. Where it is there already it does nothing.
set -euo pipefail

version=1.9.4 # tests and docs/admin.md show its output
directory=${XDG_CACHE_HOME:-$HOME/.cache}/sidecar-tools/grpcurl-$version
program=$directory/grpcurl

if [ ! -x "$program" ]; then
  if ! command -v go >/dev/null; then
    echo "There is no go here. Install Go 1.24 or later, from https://go.dev/dl/ or as a package." >&2
    exit 1
  fi
  # Into a place of its own first: two of these may run at once.
  build=$(mktemp -d)
  trap 'rm -rf "$build"' EXIT
  GOBIN=$build GOFLAGS=-buildvcs=false \
    go install -p "${GOMAXPROCS:-2}" "github.com/fullstorydev/grpcurl/cmd/grpcurl@v$version" >&2
  mkdir -p "$directory"
  mv "$build/grpcurl" "$program"
fi
echo "$program"
