#!/usr/bin/env bash
# What `make bench-clients` measures, as `check` built it: ADDRESS client|bare SESSIONS.
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
exec java -Xmx512m \
  -cp "$here/target/test-classes:$here/target/classes:$(cat "$here/target/class-path")" \
  io.agentsidecar.driver.Bench "$@"
