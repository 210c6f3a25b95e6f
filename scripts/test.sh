#!/bin/bash
# Sets up, builds and runs every test; the last lines are ctest's summary of the release build.
#   scripts/test.sh           all tests of the preset ci; before that the minimal build and clang's, in use, those
#                             that make the same calls with MPICH, and the unit tests and small MPI programs under
#                             sanitizers
# MEGASCOPE_TEST_BUDGET_S=SECONDS ends the builds of presets other than ci after so long. Those that were not run are named
# before the last summary; the exit status does not tell.
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
budget=${MEGASCOPE_TEST_BUDGET_S:-}
unset MEGASCOPE_TEST_BUDGET_S  # recorded programs report names that are no options
if [[ ! $budget =~ ^([1-9][0-9]*)?$ ]]; then
  echo "test: MEGASCOPE_TEST_BUDGET_S=$budget is not a number of seconds" >&2
  exit 2
fi
mkdir -p build
rm -f build/failures.txt

step() { printf '\n== %s (%s s)\n' "$*" "$SECONDS"; }

build() {  # build PRESET [target...]: quiet unless it fails; 124 where the budget is used before it ends
  local preset=$1 result=0 log=build/$1/build.log left=0
  shift
  mkdir -p "build/$preset"
  step "build $preset"
  if [ "$preset" != ci ] && [ -n "$budget" ]; then  # the preset ci is always built
    left=$((budget - SECONDS))
    [ $left -gt 0 ] || return 124
  fi
  {
    cmake --preset "$preset" && timeout $left cmake --build --preset "$preset" -j "$jobs" ${1+--target "$@"}
  } >"$log" 2>&1 || result=$?
  if [ $result -eq 0 ] || [ $result -eq 124 ]; then return $result; fi
  grep -E -A 12 'error|Error|FAILED' "$log" | head -n 80 || tail -n 40 "$log"
  echo "test: the build of preset $preset failed; all of it is in $log" >&2
  exit 1
}

also() {  # also PRESET "TARGETS" [ctest arguments...]: builds and tests another preset, or says that the budget is used
  local preset=$1 result=0 targets
  read -ra targets <<<"$2"
  shift 2
  build "$preset" ${targets[@]+"${targets[@]}"} || result=$?
  if [ $result -eq 124 ]; then
    echo "  preset $preset: NOT RUN, its build did not end within MEGASCOPE_TEST_BUDGET_S=$budget" | tee -a build/failures.txt
    return
  fi
  run_tests "$preset" "$@" || status=1
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
# the cheapest first, so that a budget leaves out as few as possible
also minimal cli_program -R '^cli$'  # what is installed, and a program to record
also clang cli_program -R '^cli$'
also ci-mpich "" -L '^(mpi|mpi_layer)$'
also tsan sanitized_tests -L '^(threads|sanitize)$'
also asan sanitized_tests -L '^(unit|sanitize)$'
run_tests ci || status=1
exit $status
