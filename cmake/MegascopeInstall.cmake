# Install rules of binaries, headers and documents. Those of CMake and pkg-config files are in packaging/CMakeLists.txt.
if(NOT MEGASCOPE_INSTALL)
  return()
endif()
include(GNUInstallDirs)
if(TARGET megascope)  # also installs libmegascope.so, the name that users preload
  install(TARGETS megascope EXPORT megascope-targets LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
endif()
if(TARGET hooks_stub)  # for applications with annotations: the library that they link, and the headers
  install(TARGETS hooks_stub EXPORT megascope-targets ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
  install(DIRECTORY plugin/api/megascope DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
          FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp" PATTERN "*.f90")
endif()
install(DIRECTORY python/megascope DESTINATION "${MEGASCOPE_PYTHON_DIRECTORY}"  # for all versions of Python 3; not compiled
        FILES_MATCHING PATTERN "*.py" PATTERN "py.typed" PATTERN "__pycache__" EXCLUDE)
get_property(modules GLOBAL PROPERTY MEGASCOPE_MODULES)
foreach(module IN LISTS modules)  # the library looks for its modules in its own directory
  install(TARGETS megascope_module_${module} LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
endforeach()
if(TARGET megascope)  # the library runs this program from its own directory
  install(TARGETS megascope_verdict RUNTIME DESTINATION "${CMAKE_INSTALL_LIBDIR}")
endif()
if(TARGET megascope_command)
  set_target_properties(megascope_command PROPERTIES EXPORT_NAME command)
  install(TARGETS megascope_command EXPORT megascope-targets RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
endif()

# With the directories of the repository, so that links between documents stay valid.
install(FILES LICENSE README.md CHANGELOG.md CONTRIBUTING.md LIMITS.md DESTINATION "${CMAKE_INSTALL_DOCDIR}")
install(DIRECTORY docs DESTINATION "${CMAKE_INSTALL_DOCDIR}" FILES_MATCHING PATTERN "*.md" PATTERN "*.png")
install(FILES slurm/README.md DESTINATION "${CMAKE_INSTALL_DOCDIR}/slurm")
