# cpack -G DEB: one package, megascope. Made from any build; the preset deb puts it where Debian has its libraries.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME megascope)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "shows what an MPI job is doing, without changing the program")
set(CPACK_PACKAGE_VERSION "${PROJECT_VERSION}")
set(CPACK_SET_DESTDIR ON)  # files tell the prefix, not the folder in which the package is put together
set(CPACK_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)

# Who made the package: as Debian's own tools ask.
if(DEFINED ENV{DEBEMAIL})
  set(CPACK_DEBIAN_PACKAGE_MAINTAINER "$ENV{DEBFULLNAME} <$ENV{DEBEMAIL}>")
else()
  set(CPACK_DEBIAN_PACKAGE_MAINTAINER "Unknown <unknown@unknown>")
endif()
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION
"A library that is preloaded into MPI programs and records every MPI call,
and a command that reports where the time went and who waited for whom,
also of jobs that hang or were killed. Built for ${MEGASCOPE_MPI_VERSION}.")
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS openmpi-bin)
if(MEGASCOPE_MPI_LIBRARY STREQUAL "mpich")
  set(CPACK_DEBIAN_PACKAGE_RECOMMENDS mpich)
endif()
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "otf2-tools, python3, slurm-client")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
file(WRITE "${CMAKE_CURRENT_BINARY_DIR}/debian/triggers" "activate-noawait ldconfig\n")
file(WRITE "${CMAKE_CURRENT_BINARY_DIR}/debian/shlibs" "libmegascope 1 megascope (>= ${PROJECT_VERSION})\n")
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA "${CMAKE_CURRENT_BINARY_DIR}/debian/triggers;${CMAKE_CURRENT_BINARY_DIR}/debian/shlibs")
set(CPACK_PRE_BUILD_SCRIPTS "${CMAKE_CURRENT_SOURCE_DIR}/debian/policy.cmake")
set(CPACK_MEGASCOPE_OVERRIDES "${CMAKE_CURRENT_SOURCE_DIR}/debian/lintian-overrides")
include(CPack)
