#!/bin/bash
# Forwards a port of this machine to the node of rank 0, where a page is served on the loopback address.
#
#   tunnel.sh [--login HOST] [--print] RUN_FOLDER|JOB PORT [LOCAL_PORT]
#
# On a login node it is enough as it is; from a desk name the login node with --login (then say the job, or the node as `@NODE`,
# unless the run folder is seen here too). --print shows the command and does not run it. Ends with ctrl-C.
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
if ! is_port "$port" || ! is_port "$local_port"; then die "a port is a number from 1 to 65535"; fi

ask() {  # ask COMMAND...: here, or on the login node
  if [ -n "$login" ]; then
    ssh -- "$login" "${*@Q}"
  else
    "$@"
  fi
}

# Rank 0 says in the run folder where it runs; of a job, Slurm knows the first node.
node_of() {
  case $1 in
    @*) echo "${1#@}" ;;
    */* | *[!0-9._+]*) sed -n 4p "$1/run-id" 2>/dev/null ;;
    *) ask squeue -h -j "${1%%.*}" -o %B ;;
  esac
}

if [ -f "$run/run-id" ]; then node=$(sed -n 4p "$run/run-id"); else node=$(node_of "$run"); fi
[[ $node =~ ^[A-Za-z0-9][A-Za-z0-9._-]*$ ]] || die "cannot tell on which node $run runs"
command=(ssh -N -o ExitOnForwardFailure=yes -L "127.0.0.1:$local_port:127.0.0.1:$port")
[ -z "$login" ] || command+=(-J "$login")
command+=("$node")
if [ $print = yes ]; then
  echo "${command[*]}"
else
  echo "tunnel.sh: http://127.0.0.1:$local_port/ is port $port of $node; ctrl-C ends it" >&2
  exec "${command[@]}"
fi
