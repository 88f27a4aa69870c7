# SPDX-License-Identifier: BSD-3-Clause
# find_package(Polyad 0.2 CONFIG) from an install tree, and, with -DPolyad_ROOT=<build folder>, from a build
# tree.
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/Polyad)
foreach(found IN ITEMS ZLIB_FOUND LIBLZMA_FOUND Zstd_FOUND)
  if(NOT ${found})
    set(${found} FALSE)
  endif()
endforeach()
if(LibLZMA_FOUND)
  set(LIBLZMA_FOUND TRUE)
endif()

configure_package_config_file(cmake/PolyadConfig.cmake.in ${PROJECT_BINARY_DIR}/PolyadConfig.cmake
                              INSTALL_DESTINATION ${package_dir} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/PolyadConfigVersion.cmake COMPATIBILITY SameMinorVersion)
configure_file(cmake/PolyadKokkosSources.cmake ${PROJECT_BINARY_DIR}/PolyadKokkosSources.cmake COPYONLY)
configure_file(cmake/FindZstd.cmake ${PROJECT_BINARY_DIR}/FindZstd.cmake COPYONLY)
configure_file(cmake/FindNCCL.cmake ${PROJECT_BINARY_DIR}/FindNCCL.cmake COPYONLY)

export(EXPORT PolyadTargets NAMESPACE Polyad:: FILE ${PROJECT_BINARY_DIR}/PolyadTargets.cmake)
install(EXPORT PolyadTargets NAMESPACE Polyad:: DESTINATION ${package_dir})
install(FILES ${PROJECT_BINARY_DIR}/PolyadConfig.cmake ${PROJECT_BINARY_DIR}/PolyadConfigVersion.cmake
              cmake/PolyadKokkosSources.cmake cmake/FindZstd.cmake cmake/FindNCCL.cmake
        DESTINATION ${package_dir})
