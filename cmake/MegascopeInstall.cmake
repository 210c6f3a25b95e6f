# Install rules of what is built, and the documents. What others find an installation by: packaging/CMakeLists.txt.
if(NOT MEGASCOPE_INSTALL)
  return()
endif()
include(GNUInstallDirs)
if(TARGET megascope)  # with libmegascope.so, the name that is preloaded
  install(TARGETS megascope EXPORT megascope-targets LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
endif()
if(TARGET hooks_stub)  # what programs that tell something of themselves include and link
  install(TARGETS hooks_stub EXPORT megascope-targets ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
  install(DIRECTORY plugin/api/megascope DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
          FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp" PATTERN "*.f90")
endif()
install(DIRECTORY python/megascope DESTINATION "${MEGASCOPE_PYTHON_FOLDER}"  # of any version of Python 3; nothing is compiled
        FILES_MATCHING PATTERN "*.py" PATTERN "py.typed" PATTERN "__pycache__" EXCLUDE)
get_property(modules GLOBAL PROPERTY MEGASCOPE_MODULES)
foreach(module IN LISTS modules)  # beside the library: it looks for them there
  install(TARGETS megascope_module_${module} LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
endforeach()
if(TARGET megascope)  # beside the library too: it runs it
  install(TARGETS megascope_verdict RUNTIME DESTINATION "${CMAKE_INSTALL_LIBDIR}")
endif()
if(TARGET megascope_command)
  set_target_properties(megascope_command PROPERTIES EXPORT_NAME command)
  install(TARGETS megascope_command EXPORT megascope-targets RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
endif()

# In the order of the repository, so that links between them hold.
install(FILES LICENSE README.md CHANGELOG.md CONTRIBUTING.md LIMITS.md DESTINATION "${CMAKE_INSTALL_DOCDIR}")
install(DIRECTORY docs DESTINATION "${CMAKE_INSTALL_DOCDIR}" FILES_MATCHING PATTERN "*.md" PATTERN "*.png")
install(FILES slurm/README.md DESTINATION "${CMAKE_INSTALL_DOCDIR}/slurm")
