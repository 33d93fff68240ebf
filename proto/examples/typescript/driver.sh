#!/usr/bin/env bash
# Runs the conformance driver that ./check has built.
set -euo pipefail
exec node "$(dirname "$0")/dist/driver/driver.js"
