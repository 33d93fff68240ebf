#!/usr/bin/env bash
# Writes src/generated/java from proto/sidecar/v1, by protoc and protoc-gen-grpc-java of Maven Central
# in the versions that pom.xml names. Another folder than src/generated/java may be given.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
into=${1:-src/generated/java}
case "$(uname -s)-$(uname -m)" in
  Linux-x86_64) platform=linux-x86_64 ;;
  Linux-aarch64) platform=linux-aarch_64 ;;
  Darwin-*) platform=osx-aarch_64 ;;
  *) echo "Maven Central has no protoc for $(uname -sm)" >&2; exit 1 ;;
esac
version() { sed -n "s|.*<$1>\(.*\)</$1>.*|\1|p" pom.xml; }
protobuf=$(version protobuf.version)
grpc=$(version grpc.version)
tools=$PWD/target/tools/$protobuf-$grpc
dependency() { MAVEN_OPTS=-Xmx512m mvn --batch-mode --quiet --strict-checksums "dependency:$@"; }
if [[ ! -e $tools/complete ]]; then
  dependency copy -Dartifact="com.google.protobuf:protoc:$protobuf:exe:$platform" -DoutputDirectory="$tools"
  dependency copy -Dartifact="io.grpc:protoc-gen-grpc-java:$grpc:exe:$platform" -DoutputDirectory="$tools"
  dependency unpack -Dartifact="com.google.protobuf:protobuf-java:$protobuf:jar" \
    -DoutputDirectory="$tools/include" -Dmdep.unpack.includes='google/protobuf/*.proto'
  chmod +x "$tools"/*.exe
  touch "$tools/complete"
fi
mkdir -p "$into"
find "$into" -mindepth 1 -delete
"$tools/protoc-$protobuf-$platform.exe" -I ../.. -I "$tools/include" \
  --plugin=protoc-gen-grpc-java="$tools/protoc-gen-grpc-java-$grpc-$platform.exe" \
  --java_out="$into" --grpc-java_out=@generated=omit:"$into" \
  sidecar/v1/run.proto sidecar/v1/convergence_service.proto
