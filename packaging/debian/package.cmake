# cpack -G DEB creates one package, megascope. It works in any build; the preset deb uses Debian's directories.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME megascope)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "profiler for MPI jobs that runs applications unmodified")
set(CPACK_PACKAGE_VERSION "${PROJECT_VERSION}")
set(CPACK_SET_DESTDIR ON)  # files contain the prefix, not the staging directory
set(CPACK_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)

# The maintainer: from the variables that Debian's tools use.
if(DEFINED ENV{DEBEMAIL})
  set(CPACK_DEBIAN_PACKAGE_MAINTAINER "$ENV{DEBFULLNAME} <$ENV{DEBEMAIL}>")
else()
  set(CPACK_DEBIAN_PACKAGE_MAINTAINER "Unknown <unknown@unknown>")
endif()
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION
"MegaScope profiles MPI jobs. A library is preloaded into MPI programs and
records every MPI call. A command reports where time goes and which ranks
delay the others, also for jobs that hang or were killed.
Built for ${MEGASCOPE_MPI_VERSION}.")
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
