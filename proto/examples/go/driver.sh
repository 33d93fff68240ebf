#!/usr/bin/env bash
# The driver for `sidecar conformance --client`, as check has built it.
exec "$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/bin/driver" "$@"
