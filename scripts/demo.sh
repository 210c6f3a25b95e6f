#!/bin/bash
# Sets up, builds `release` and traces a GPT that trains on four ranks.
#   scripts/demo.sh [--live] [directory]     where the run directory goes; default build/demo
# --live: it trains for longer, and a browser can watch; then it generates what the browser asks for.
set -euo pipefail
cd "$(dirname "$0")/.."

live=off
control=off
steps=40
if [ "${1:-}" = --live ]; then
  live=0
  control=allow
  steps=6000
  shift
fi

preset=release
out=${1:-build/demo}
bin=build/$preset

scripts/setup.sh build

echo "demo: building (log: $bin/build.log)"
mkdir -p "$bin" "$out"
if ! { cmake --preset $preset && cmake --build --preset $preset -j "$(nproc)"; } >"$bin/build.log" 2>&1; then
  tail -n 40 "$bin/build.log" >&2
  exit 1
fi

mpirun=(mpirun)
! command -v mpirun.openmpi >/dev/null || mpirun=(mpirun.openmpi)
mpirun+=(--oversubscribe -n 4)
[ "$(id -u)" -ne 0 ] || mpirun+=(--allow-run-as-root)

library=$PWD/$bin/lib/libmegascope.so
program=("$bin/bin/megascope-gpt" --tp 2 --pp 2 --steps "$steps")
[ "$live" = off ] || program+=(--serve 600)
run_directory=$out/gpt
number=1
while [ -e "$run_directory" ]; do  # the library would choose the same free name
  number=$((number + 1))
  run_directory=$out/gpt-$number
done
case $run_directory in
  /*) whole_path=$run_directory ;;
  *) whole_path=$PWD/$run_directory ;;
esac

echo "demo: a GPT trains on 4 ranks, 2 that share each layer, in 2 pipeline stages. It annotates its steps and layers with hooks"
echo "demo: (examples/gpt/observe.h), which do nothing until the library is preloaded; any MPI program is recorded like this:"
echo
if [ "$live" = off ]; then
  echo "  mpirun -n 4 -x LD_PRELOAD=$bin/lib/libmegascope.so ${program[*]}"
else
  echo "  mpirun -n 4 -x LD_PRELOAD=$bin/lib/libmegascope.so -x MEGASCOPE_LIVE=0 -x MEGASCOPE_LIVE_CONTROL=allow \\"
  echo "    ${program[*]}"
  echo
  echo "demo: open the address that appears below in a browser on this machine; ctrl-C ends it"
fi
echo
# The ranks' standard error is no terminal, so that the address's token is in a file that only its user can read.
show_address() {
  local url=$whole_path/live_url
  for _ in $(seq 600); do
    if [ -s "$url" ]; then
      if [ -t 1 ]; then echo "demo: the live view: $(cat "$url")"; else echo "demo: the live view's address is in $url"; fi
      return
    fi
    sleep 0.1
  done
}

status=0
watcher=
if [ "$live" != off ]; then
  show_address &
  watcher=$!
fi
trap : INT  # ctrl-C ends the ranks; what they recorded is shown below
OMPI_MCA_mpi_yield_when_idle=1 "${mpirun[@]}" -x LD_PRELOAD="$library" -x MEGASCOPE_OUT="$whole_path" -x MEGASCOPE_LIVE="$live" \
  -x MEGASCOPE_LIVE_CONTROL="$control" \
  "${program[@]}" || status=$?
trap - INT
[ -z "$watcher" ] || kill "$watcher" 2>/dev/null || true
if [ ! -e "$whole_path/run-id" ]; then
  echo "demo: no run directory was made" >&2
  exit "$((status > 0 ? status : 1))"
fi
if [ ! -e "$whole_path/report.txt" ]; then
  echo
  echo "demo: the run was cut short; its traces are recovered"
  "$bin/bin/megascope" recover "$whole_path"
fi

echo
echo "demo: the run directory is $run_directory"
ls -1 --group-directories-first "$run_directory" | sed 's/^/  /'
echo
echo "demo: to look at the traces"
find "$run_directory" \( -name '*.otf2' -printf '  %p\n      open it in Vampir, or print it with otf2-print\n' \) -o \
  \( -name '*.perfetto-trace' -printf '  %p\n      open it at https://ui.perfetto.dev (it stays in your browser)\n' \) -o \
  \( -name '*.json.gz' -printf '  %p\n      open it at https://ui.perfetto.dev or chrome://tracing\n' \)
echo "  the report again: $bin/bin/megascope report $run_directory"
echo "  who is slow, why: $bin/bin/megascope analyze $run_directory"
echo "  other formats:    $bin/bin/megascope export $run_directory --format chrome"
exit "$status"
