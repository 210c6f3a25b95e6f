# What mpi.h declares, asked of the compiler. In directory OUTPUT:
#   header_functions.cpp              the names of all MPI functions, as kHeaderFunctions
#   megascope_generated/declared.h    for every row of the tables: MEGASCOPE_DECLARED_<name>(text) is the text where mpi.h
#                                     declares the function, else nothing
# COMPILER, INCLUDES (a list), DEFINITIONS (a list), TABLES (a list of files), OUTPUT.
cmake_minimum_required(VERSION 3.25)
set(flags)
foreach(directory IN LISTS INCLUDES)
  list(APPEND flags "-I${directory}")
endforeach()
foreach(definition IN LISTS DEFINITIONS)
  list(APPEND flags "-D${definition}")
endforeach()
set(source "${OUTPUT}/header_functions.c")
file(WRITE "${source}" "#include <mpi.h>\n")
execute_process(COMMAND "${COMPILER}" ${flags} -E -P "${source}" OUTPUT_VARIABLE text RESULT_VARIABLE status)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "mpi.h could not be preprocessed")
endif()
string(REGEX REPLACE "typedef[^;{]*;" "" text "${text}")
string(REGEX MATCHALL "[^P_A-Za-z0-9]MPI_[A-Z][A-Za-z0-9_]*[ \n]*\\(" calls "${text}")
set(names)
foreach(call IN LISTS calls)
  string(REGEX REPLACE "^.(MPI_[A-Za-z0-9_]*).*$" "\\1" name "${call}")
  list(APPEND names "${name}")
endforeach()
list(SORT names)
list(REMOVE_DUPLICATES names)
list(FILTER names EXCLUDE REGEX "_function$")
list(JOIN names "\",\n\"" joined)
file(CONFIGURE OUTPUT "${OUTPUT}/header_functions.cpp" CONTENT "#include \"mpi_layer/table/header_functions.h\"

namespace megascope::mpi {

const char* const kHeaderFunctions[] = {\n\"${joined}\",\nnullptr};

}  // namespace megascope::mpi\n")

set(lines "")
foreach(table IN LISTS TABLES)
  file(STRINGS "${table}" rows REGEX "^MEGASCOPE_MPI\\(")
  foreach(row IN LISTS rows)
    string(REGEX REPLACE "^MEGASCOPE_MPI\\(([A-Za-z0-9_]+),.*" "\\1" name "${row}")
    set(value "")
    if("MPI_${name}" IN_LIST names)
      set(value " __VA_ARGS__")
    endif()
    string(APPEND lines "#define MEGASCOPE_DECLARED_${name}(...)${value}\n")
  endforeach()
endforeach()
file(CONFIGURE OUTPUT "${OUTPUT}/megascope_generated/declared.h" CONTENT "#pragma once\n\n${lines}")
