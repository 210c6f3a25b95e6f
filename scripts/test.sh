#!/bin/bash
# Sets up, builds and runs every test; the last lines are ctest's summary of the release build.
#   scripts/test.sh           all tests of the preset ci
#   scripts/test.sh --full    before that: clang 14, the minimal build, and the unit tests under sanitizers
#   scripts/test.sh --quick   the preset ci without the tests labelled apps or slow
set -euo pipefail
cd "$(dirname "$0")/.."

quick=no
full=no
case "${1:-}" in
  "") ;;
  --quick) quick=yes ;;
  --full) full=yes ;;
  *) echo "usage: scripts/test.sh [--quick | --full]" >&2; exit 2 ;;
esac
jobs=$(nproc)

step() { printf '\n== %s (%s s)\n' "$*" "$SECONDS"; }

build() {  # build PRESET [target...]: quiet unless it fails
  local preset=$1
  shift
  mkdir -p "build/$preset"
  step "build $preset"
  local log=build/$preset/build.log
  if ! { cmake --preset "$preset" && cmake --build --preset "$preset" -j "$jobs" ${1+--target "$@"}; } >"$log" 2>&1; then
    grep -E -A 12 'error|Error|FAILED' "$log" | head -n 80 || tail -n 40 "$log"
    echo "test: the build of preset $preset failed; all of it is in $log" >&2
    exit 1
  fi
}

run_tests() {  # run_tests PRESET [ctest arguments...]
  local preset=$1
  shift
  step "test $preset"
  /usr/bin/python3 scripts/run_ctest.py "build/$preset" tests/allowed_skips.txt -j "$jobs" "$@"
}

if [ $quick = yes ]; then
  scripts/setup.sh build test
  tests/tools/trace_processor/fetch.sh || true
  build ci
  run_tests ci -LE '^(apps|slow)$'
  exit
fi

scripts/setup.sh build test apps
tests/tools/trace_processor/fetch.sh || true  # without it, tests that need it are skipped with a reason
build ci
status=0
if [ $full = yes ]; then
  build minimal
  build clang
  build asan
  run_tests asan -L '^(unit|mpi)$' -LE '^(apps|slow|faults|preload)$' || status=1
  build tsan
  run_tests tsan -L '^(unit|mpi)$' -LE '^(apps|slow|faults|preload)$' || status=1
fi
if [ $status -ne 0 ]; then
  echo "test: a sanitizer run failed (above); the release build's tests follow" >&2
fi
run_tests ci || status=1
exit $status
