#!/usr/bin/env bash
# The conformance driver, as `check` built it.
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
exec java -Xmx512m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xshare:auto \
  -cp "$here/target/test-classes:$here/target/classes:$(cat "$here/target/class-path")" \
  io.agentsidecar.driver.Driver "$@"
