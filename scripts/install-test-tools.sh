#!/usr/bin/env bash
# Installs what some tests need beside Python: Prometheus and its promtool, which
# tests/process/test_prometheus.py and the tests of the alert rules run as real programs, and
# bubblewrap, by which tests/codeagent contains code.
#
# It changes the machine: it runs `apt-get update` and `apt-get install` of what is missing, as root
# or by `sudo -n`, and asks nothing. Prometheus brings a service of its own on port 9090; it is kept
# from starting during the installation, and where systemd runs it is disabled, unless Prometheus
# was there before. Where all programs are there already it does nothing.
set -euo pipefail

have() { command -v "$1" >/dev/null; }

missing=()
if ! have prometheus || ! have promtool; then missing+=(prometheus); fi
if ! have bwrap; then missing+=(bubblewrap); fi
if [ "${#missing[@]}" -eq 0 ]; then
  echo "there already: $(command -v prometheus) $(command -v promtool) $(command -v bwrap)"
  exit 0
fi

if ! have apt-get; then
  echo "There is no apt-get here. Install on the PATH: prometheus 2.40 or later, with promtool, and" \
    "bubblewrap 0.8 or later." >&2
  exit 1
fi

was_there=
if have prometheus; then was_there=yes; fi

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  if ! sudo -n true 2>/dev/null; then
    echo "This needs root, or sudo without a password. Run: sudo $0" >&2
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
  apt-get install -y -qq --no-install-recommends "${missing[@]}"

if [ -z "$was_there" ] && [ -d /run/systemd/system ]; then
  "${as_root[@]}" systemctl disable prometheus.service
fi

bwrap --version
prometheus --version 2>&1 | head -n 1
promtool --version 2>&1 | head -n 1
