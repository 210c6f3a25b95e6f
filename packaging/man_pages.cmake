# Generates the man pages from the command: --help by help2man, the environment variables from
# `megascope info --json`.
#
#   cmake -DCOMMAND=bin/megascope -DHELP2MAN=help2man -DHELP=man_help.sh -DSCRIPT=megascope-run -DPAGES="run;info"
#         -DVERSION=0.1.0 -DOUT=directory -P man_pages.cmake

set(ENV{LC_ALL} C.UTF-8)
set(ENV{MEGASCOPE_COMMAND} "${COMMAND}")

function(ask result)
  execute_process(COMMAND ${ARGN} OUTPUT_VARIABLE text RESULT_VARIABLE status ERROR_VARIABLE error)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${ARGN}: ${status} ${error}")
  endif()
  set(${result} "${text}" PARENT_SCOPE)
endfunction()

# Escapes text for roff: dashes, backslashes and requests are shown as they are.
function(as_roff result text)
  string(REPLACE "\\" "\\e" text "${text}")
  string(REPLACE "-" "\\-" text "${text}")
  string(REGEX REPLACE "(^|\n)([.'])" "\\1\\\\&\\2" text "${text}")
  set(${result} "${text}" PARENT_SCOPE)
endfunction()

function(write_see_also file own)
  set(names "megascope (1)")
  foreach(page IN LISTS PAGES)
    list(APPEND names "megascope-${page} (1)")
  endforeach()
  list(APPEND names "megascope (7)")
  list(REMOVE_ITEM names "${own}")
  list(TRANSFORM names PREPEND ".BR ")
  list(JOIN names " ,\n" text)
  file(APPEND "${file}" "[SEE ALSO]\n${text}\n")
endfunction()

# megascope-run is also a script of its own.
function(write_script_section file)
  ask(help sh "${SCRIPT}" --help)
  as_roff(help "${help}")
  file(APPEND "${file}" "[THE SCRIPT megascope\\-run]\n.nf\n${help}.fi\n")
endfunction()

function(write_page page)
  set(name megascope)
  set(arguments --help)
  if(page)
    set(name megascope-${page})
    set(arguments "${page} --help")
  endif()
  separate_arguments(words UNIX_COMMAND "${arguments}")
  ask(help "${COMMAND}" ${words})
  string(REGEX MATCH "^[^\n]*" sentence "${help}")
  string(REGEX REPLACE "\\.$" "" sentence "${sentence}")
  set(include "${OUT}/${name}.include")
  file(WRITE "${include}" "")
  if(page STREQUAL "run")
    write_script_section("${include}")
  endif()
  write_see_also("${include}" "${name} (1)")
  file(COPY_FILE "${HELP}" "${OUT}/${name}")
  ask(text "${HELP2MAN}" --no-info "--name=${sentence}" "--help-option=${arguments}" "--include=${include}" "${OUT}/${name}")
  file(WRITE "${OUT}/${name}.1" "${text}")
  file(REMOVE "${OUT}/${name}" "${include}")
endfunction()

function(write_variables)
  ask(json "${COMMAND}" info --json)
  string(JSON options GET "${json}" options)
  string(JSON count LENGTH "${options}")
  set(text ".TH MEGASCOPE 7 \"\" \"MegaScope ${VERSION}\" \"Environment variables\"\n.SH NAME\n"
    "megascope \\- environment variables of libmegascope.so, the library that profiles MPI programs\n.SH SYNOPSIS\n"
    ".B mpirun \\-x LD_PRELOAD=libmegascope.so \\-x MEGASCOPE_\\fINAME\\fB=\\fIvalue\\fB ./program\n.SH DESCRIPTION\n"
    "The library reads the variables once, when the program initialises MPI.\nAn invalid value is reported on standard "
    "error, with the value used instead.\nThe separators of lists are comma, plus and colon.\n.SH ENVIRONMENT\n")
  list(JOIN text "" text)
  math(EXPR last "${count} - 1")
  foreach(index RANGE ${last})
    foreach(key IN ITEMS name default range help example)
      string(JSON ${key} GET "${options}" ${index} ${key})
      as_roff(${key} "${${key}}")
    endforeach()
    string(APPEND text ".TP\n.B ${name}\n${help}\n.br\nAccepts ${range}.\n.br\nDefault: ${default}. Example: ${name}=${example}\n")
  endforeach()
  write_see_also("${OUT}/megascope.7.include" "megascope (7)")
  file(READ "${OUT}/megascope.7.include" include)
  file(REMOVE "${OUT}/megascope.7.include")
  string(REPLACE "[SEE ALSO]" ".SH \"SEE ALSO\"" include "${include}")
  file(WRITE "${OUT}/megascope.7" "${text}${include}")
endfunction()

file(MAKE_DIRECTORY "${OUT}")
write_page("")
foreach(page IN LISTS PAGES)
  write_page(${page})
endforeach()
write_variables()
