# Completion of megascope in bash. Commands, options and their values come from the command's --help.

# Fills COMPREPLY with the words that have the current one as a prefix.
_megascope_offer() {
  mapfile -t COMPREPLY < <(compgen -W "$1" -- "$2")
}

# Commands: the first words under "Subcommands:". Options: the words that begin with a dash.
_megascope_commands() {
  "$1" --help 2>/dev/null | sed -n '/^Subcommands:/,/^$/s/^  \([a-z]*\) .*/\1/p'
}
_megascope_options() {
  "$@" --help 2>/dev/null | sed -n 's/^  \(-[^ ]*\).*/\1/p' | tr , '\n'
}

# The value type that --help shows for an option: "TEXT", "INT:...", "TEXT:{otf2,perfetto}"; empty for a flag.
_megascope_value_of() {  # _megascope_value_of OPTION COMMAND...
  local option=$1
  shift
  "$@" --help 2>/dev/null | sed -n "s/^  \(-[a-z],\)*$option\(,--[a-z-]*\)* \([A-Z][^ ]*\).*/\3/p"
}

# Run directories; if there are none, directories that may contain them.
_megascope_directories() {
  local directory directories runs=()
  mapfile -t directories < <(compgen -d -- "$1")
  for directory in "${directories[@]}"; do
    [[ -e $directory/run-id ]] && runs+=("$directory")
  done
  COMPREPLY=("${runs[@]}")
  [[ ${#runs[@]} -gt 0 ]] || COMPREPLY=("${directories[@]}")
  compopt -o filenames 2>/dev/null
}

# The next entry of a comma-separated list.
_megascope_list() {  # _megascope_list "a b c" CURRENT
  local before=""
  [[ $2 != *,* ]] || before=${2%,*},
  mapfile -t COMPREPLY < <(compgen -P "$before" -W "$1" -- "${2##*,}")
}

_megascope_value() {  # _megascope_value OPTION VALUE CURRENT COMMAND: false if VALUE does not determine the words
  case $1,$2 in
    *,*{*}) local words=${2#*\{}; _megascope_list "${words//[,\}]/ }" "$3" ;;
    -e,* | --export,*)  # all formats except the one that only `megascope export` writes
      local formats; formats=$(_megascope_value_of --format "$4" export)
      _megascope_value --format "${formats/,megascan/}" "$3" "$4" ;;
    -o,* | --out,* | --scratch,*) mapfile -t COMPREPLY < <(compgen -d -- "$3"); compopt -o filenames 2>/dev/null ;;
    *,INT*) ;;
    *) return 1 ;;
  esac
}

# The words of the program to run: first a command, then files.
_megascope_program() {  # _megascope_program INDEX CURRENT
  if declare -F _command_offset >/dev/null; then
    _command_offset "$1"
  elif ((COMP_CWORD == $1)); then
    mapfile -t COMPREPLY < <(compgen -c -- "$2"; compgen -f -- "$2")
  else
    mapfile -t COMPREPLY < <(compgen -f -- "$2")
    compopt -o filenames 2>/dev/null
  fi
}

# The index of the program in "megascope run [option...] [--] program...", also of doctor; as command_start in plugin/cli/entry/main.cpp.
_megascope_program_start() {
  local i
  for ((i = 2; i < COMP_CWORD; ++i)); do
    case ${COMP_WORDS[i]} in
      --) echo $((i + 1)); return ;;
      -o | --out | -e | --export) ((++i)) ;;
      -*) ;;
      *) echo "$i"; return ;;
    esac
  done
}

_megascope() {
  local command=${COMP_WORDS[0]} current=${COMP_WORDS[COMP_CWORD]} start value
  local previous=${COMP_WORDS[COMP_CWORD - 1]} subcommand=${COMP_WORDS[1]}
  COMPREPLY=()
  if ((COMP_CWORD == 1)); then
    _megascope_offer "$(_megascope_commands "$command") $(_megascope_options "$command")" "$current"
    return
  fi
  if [[ $subcommand = run || $subcommand = doctor ]]; then
    start=$(_megascope_program_start)
    if [[ -n $start ]]; then
      _megascope_program "$start" "$current"
      return
    fi
  fi
  if [[ $previous = -* ]]; then
    value=$(_megascope_value_of "$previous" "$command" "$subcommand")
    [[ -z $value ]] || { _megascope_value "$previous" "$value" "$current" "$command"; return; }
  fi
  if [[ $current = -* ]]; then
    _megascope_offer "$(_megascope_options "$command" "$subcommand")" "$current"
  elif [[ $subcommand = run || $subcommand = doctor ]]; then
    _megascope_program "$COMP_CWORD" "$current"
  elif [[ -n $("$command" "$subcommand" --help 2>/dev/null | sed -n '/^  DIR /p') ]]; then
    _megascope_directories "$current"
  fi
}
complete -F _megascope megascope
