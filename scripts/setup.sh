#!/bin/bash
# Installs the Debian packages that are missing and records versions.
#   scripts/setup.sh [section...]     sections of scripts/packages.txt; default: build
# Needs root or sudo only when something is missing. Does nothing, and needs no network, when all is there.
set -euo pipefail
cd "$(dirname "$0")/.."

packages_of() {  # the packages of one section
  awk -v section="[$1]" '/^#/ || NF == 0 { next } /^\[/ { inside = ($1 == section); next } inside { print $1 }' \
    scripts/packages.txt
}

is_installed() {
  [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

is_one_installed() {  # is_one_installed a|b
  local package
  for package in ${1//|/ }; do
    is_installed "$package" && return
  done
  return 1
}

missing_packages() {
  local section package
  for section in "$@"; do
    for package in $(packages_of "$section"); do
      is_one_installed "$package" || echo "${package%%|*}"
    done
  done
}

# Debian starts the daemons of what it installs; what we install for tests is started by the tests.
without_daemons() {  # without_daemons COMMAND...: as root
  local policy=/usr/sbin/policy-rc.d
  if [ -e "$policy" ]; then
    "$@"
    return
  fi
  printf '#!/bin/sh\nexit 101\n' | "${as_root[@]}" tee "$policy" >/dev/null
  "${as_root[@]}" chmod 755 "$policy"
  local status=0
  "$@" || status=$?
  "${as_root[@]}" rm -f "$policy"
  return $status
}

install_packages() {
  local as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null; then
      echo "setup: missing packages: $*" >&2
      echo "setup: neither root nor sudo; ask an administrator for: apt-get install $*" >&2
      exit 1
    fi
    as_root=(sudo)
  fi
  echo "setup: installing $*"
  local apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=600 -qq)
  "${apt[@]}" update
  without_daemons "${apt[@]}" install -y --no-install-recommends "$@"
}

record_versions() {
  mkdir -p build
  {
    . /etc/os-release && echo "system $PRETTY_NAME"
    echo "kernel $(uname -r) $(uname -m)"
    local section package
    for section in build test apps slurm package bench; do
      for package in $(packages_of "$section"); do
        is_installed "${package%%|*}" && dpkg-query -W -f '${Package} ${Version}\n' "${package%%|*}"
      done
    done
    true
  } >build/versions.txt
}

[ $# -gt 0 ] || set -- build
if ! command -v dpkg-query >/dev/null; then
  echo "setup: not a Debian system; what is needed stands in scripts/packages.txt" >&2
  exit 0
fi
mapfile -t missing < <(missing_packages "$@")
if [ ${#missing[@]} -gt 0 ]; then
  install_packages "${missing[@]}"
fi
record_versions
