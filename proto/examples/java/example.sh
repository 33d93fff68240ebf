#!/usr/bin/env bash
# The example, as `check` built it. The address of a sidecar may be given, and after it how long to wait for
# a decision, in milliseconds.
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
exec java -Xmx256m -XX:TieredStopAtLevel=1 \
  -cp "$here/target/test-classes:$here/target/classes:$(cat "$here/target/class-path")" \
  io.agentsidecar.example.Example "$@"
