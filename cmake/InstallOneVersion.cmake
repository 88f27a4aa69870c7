# SPDX-License-Identifier: BSD-3-Clause
# The backends in a prefix share their headers: an install ends, before it writes anything, if the prefix has another
# backend of another version.
install(CODE "
  file(GLOB others \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR}/cmake/Polyad/PolyadBackend-*.cmake\")
  foreach(other IN LISTS others)
    unset(Polyad_BACKEND_VERSION)
    include(\${other})
    if(NOT other MATCHES \"-${POLYAD_BACKEND}[.]cmake$\"
       AND NOT Polyad_BACKEND_VERSION VERSION_EQUAL ${PROJECT_VERSION})
      message(FATAL_ERROR \"\${CMAKE_INSTALL_PREFIX} has a backend of Polyad \${Polyad_BACKEND_VERSION} (\${other}), and \"
                          \"this is Polyad ${PROJECT_VERSION}. Backends of one prefix have one version: remove the \"
                          \"other one first, or install into another prefix.\")
    endif()
  endforeach()")
