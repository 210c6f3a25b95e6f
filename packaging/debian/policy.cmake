# Run by cpack on the files of the package before they are packed: changes that Debian's policy requires.
set(share "${CPACK_TEMPORARY_DIRECTORY}/usr/share")
set(doc "${share}/doc/megascope")

file(GLOB pages "${share}/man/man?/*.[1-9]")
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)
file(WRITE "${doc}/changelog"
"megascope (${CPACK_PACKAGE_VERSION}) unstable; urgency=medium

  * Changes are listed in CHANGELOG.md.

 -- ${CPACK_DEBIAN_PACKAGE_MAINTAINER}  ${date}
")
execute_process(COMMAND gzip -9nf ${pages} "${doc}/changelog" COMMAND_ERROR_IS_FATAL ANY)

file(REMOVE_RECURSE "${share}/megascope/modulefiles")  # all files are in the default directories
file(REMOVE "${doc}/LICENSE")  # Debian provides the text
file(WRITE "${doc}/copyright"
"Copyright 2026 the authors of MegaScope

Licensed under the Apache License, Version 2.0. On Debian systems its text is
in /usr/share/common-licenses/Apache-2.0.
")
file(MAKE_DIRECTORY "${share}/lintian/overrides")
file(COPY_FILE "${CPACK_MEGASCOPE_OVERRIDES}" "${share}/lintian/overrides/megascope")
