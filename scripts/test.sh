#!/bin/bash
# Sets up, builds and runs every test; the last lines are ctest's summary of the release build.
#   scripts/test.sh           all tests of the preset ci; before that the minimal build and clang's, in use, those
#                             that make the same calls with MPICH, and the unit tests and small MPI programs under
#                             sanitizers
# MEGASCOPE_TEST_DATA=DIRECTORY adds the tests that need large data (tests/README.md).
#   scripts/test.sh --quick   the preset ci without the tests labelled apps, slow or slurm
set -euo pipefail
cd "$(dirname "$0")/.."

quick=no
case "${1:-}" in
  "") ;;
  --quick) quick=yes ;;
  *) echo "usage: scripts/test.sh [--quick]" >&2; exit 2 ;;
esac
jobs=$(nproc)
mkdir -p build
rm -f build/failures.txt

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
  /usr/bin/python3 scripts/run_ctest.py --preset "$preset" --failures build/failures.txt "build/$preset" \
    tests/allowed_skips.txt -j "$jobs" "$@"
}

if [ $quick = yes ]; then
  scripts/setup.sh build test
  tests/tools/trace_processor/fetch.sh || true
  build ci
  run_tests ci -LE '^(apps|slow|slurm)$'
  exit
fi

scripts/setup.sh build test apps mpich slurm package bench
tests/tools/trace_processor/fetch.sh || true  # without it, tests that need it are skipped with a reason
build ci
status=0
for preset in minimal clang; do
  build "$preset" cli_program  # what is installed, and a program to record
  run_tests "$preset" -R '^cli$' || status=1
done
build ci-mpich
run_tests ci-mpich -L '^(mpi|mpi_layer)$' || status=1
build asan sanitized_tests
run_tests asan -L '^(unit|sanitize)$' || status=1
build tsan sanitized_tests
run_tests tsan -L '^(threads|sanitize)$' || status=1
run_tests ci || status=1
exit $status
