#!/bin/bash
# Forwards a local port to the node of rank 0, where the live view listens on the loopback address.
#
#   tunnel.sh [--login HOST] [--print] RUN_FOLDER|JOB PORT [LOCAL_PORT]
#
# On a login node no option is needed. Elsewhere pass the login node with --login, and the job (or `@NODE`) if the run directory is
# not visible. --print prints the command without running it. ctrl-C ends the tunnel.
set -u

usage() {
  sed -n '2,7s/^# \{0,1\}//p' "$0"
  exit 2
}
die() { echo "tunnel.sh: $*" >&2; exit 2; }
is_port() { [[ $1 =~ ^[0-9]{1,5}$ ]] && [ "$1" -ge 1 ] && [ "$1" -le 65535 ]; }

login='' print=no
while [ $# -gt 0 ]; do
  case $1 in
    --login) [ $# -ge 2 ] || usage; login=$2; shift 2 ;;
    --print) print=yes; shift ;;
    -*) usage ;;
    *) break ;;
  esac
done
if [ $# -lt 2 ] || [ $# -gt 3 ]; then usage; fi
run=$1 port=$2 local_port=${3:-$2}
if ! is_port "$port" || ! is_port "$local_port"; then die "a port must be a number from 1 to 65535"; fi

ask() {  # ask COMMAND...: here, or on the login node
  if [ -n "$login" ]; then
    ssh -- "$login" "${*@Q}"
  else
    "$@"
  fi
}

# The run directory has the node of rank 0; for a job Slurm knows the first node.
node_of() {
  case $1 in
    @*) echo "${1#@}" ;;
    */* | *[!0-9._+]*) sed -n 4p "$1/run-id" 2>/dev/null ;;
    *) ask squeue -h -j "${1%%.*}" -o %B ;;
  esac
}

if [ -f "$run/run-id" ]; then node=$(sed -n 4p "$run/run-id"); else node=$(node_of "$run"); fi
[[ $node =~ ^[A-Za-z0-9][A-Za-z0-9._-]*$ ]] || die "cannot determine the node of rank 0 of $run"
command=(ssh -N -o ExitOnForwardFailure=yes -L "127.0.0.1:$local_port:127.0.0.1:$port")
[ -z "$login" ] || command+=(-J "$login")
command+=("$node")
if [ $print = yes ]; then
  echo "${command[*]}"
else
  echo "tunnel.sh: http://127.0.0.1:$local_port/ forwards to port $port of $node; ctrl-C ends it" >&2
  exec "${command[@]}"
fi
