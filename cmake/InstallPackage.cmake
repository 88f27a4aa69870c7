# SPDX-License-Identifier: BSD-3-Clause
# find_package(Polyad 0.2 CONFIG) from an install tree, and, with -DPolyad_ROOT=<build folder>, from a build tree.
# Several backends share a prefix: each brings a library, PolyadBackend-NAME.cmake and PolyadTargets-NAME.cmake of its
# own, and the same PolyadConfig.cmake, which chooses one.
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/Polyad)
set(package_files "")
foreach(file IN ITEMS PolyadConfig PolyadKokkosFacts PolyadKokkosSources FindZstd FindNCCL)
  list(APPEND package_files ${PROJECT_SOURCE_DIR}/cmake/${file}.cmake)
endforeach()

set(polyad_packages Threads)
foreach(package IN ITEMS ZLIB LibLZMA Zstd)
  if(${package}_FOUND)
    list(APPEND polyad_packages ${package})
  endif()
endforeach()
if(POLYAD_ENABLE_MPI)
  list(APPEND polyad_packages MPI)
endif()
if(POLYAD_ENABLE_NCCL)
  list(APPEND polyad_packages NCCL)
endif()

write_basic_package_version_file(${PROJECT_BINARY_DIR}/PolyadConfigVersion.cmake COMPATIBILITY SameMinorVersion)

# --- the build tree ---
# It holds one backend: what an earlier configuration left of another goes. With Kokkos in the source tree there is no
# such package: Kokkos Kernels has none of its build tree either.
file(GLOB stale ${PROJECT_BINARY_DIR}/PolyadBackend-*.cmake ${PROJECT_BINARY_DIR}/PolyadTargets*.cmake)
if(stale)
  file(REMOVE ${stale})
endif()
if(NOT polyad_kokkos_in_tree)
  set(polyad_kokkos_folders ${Kokkos_DIR})
  configure_file(cmake/PolyadBackend.cmake.in ${PROJECT_BINARY_DIR}/PolyadBackend-${POLYAD_BACKEND}.cmake @ONLY)
  foreach(file IN LISTS package_files)
    configure_file(${file} ${PROJECT_BINARY_DIR} COPYONLY)
  endforeach()
  export(EXPORT PolyadTargets NAMESPACE Polyad:: FILE ${PROJECT_BINARY_DIR}/PolyadTargets-${POLYAD_BACKEND}.cmake)
endif()

# --- the install tree ---
# A Kokkos that scripts/setup built is in its cache, in somebody's home: the package takes it along.
set(polyad_kokkos_folders ${Kokkos_DIR})
set(polyad_kokkos_prefix "")
if(Kokkos_DIR)
  cmake_path(SET polyad_kokkos_prefix NORMALIZE ${Kokkos_DIR}/../../..)
  cmake_path(GET polyad_kokkos_prefix PARENT_PATH polyad_kokkos_prefix)
endif()
if(polyad_kokkos_prefix AND EXISTS ${polyad_kokkos_prefix}/complete)
  set(kokkos_dir ${CMAKE_INSTALL_LIBDIR}/polyad/kokkos-${POLYAD_BACKEND})
  set(polyad_kokkos_folders "\${CMAKE_CURRENT_LIST_DIR}/../../polyad/kokkos-${POLYAD_BACKEND}/lib/cmake/Kokkos")
  install(DIRECTORY ${polyad_kokkos_prefix}/include ${polyad_kokkos_prefix}/lib DESTINATION ${kokkos_dir})
  install(CODE "
    file(GLOB_RECURSE files \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${kokkos_dir}/lib/cmake/*.cmake\")
    foreach(file IN LISTS files)
      file(READ \${file} text)
      string(REPLACE \"${polyad_kokkos_prefix}\" \"\\\${CMAKE_CURRENT_LIST_DIR}/../../..\" moved \"\${text}\")
      if(NOT moved STREQUAL text)
        file(WRITE \${file} \"\${moved}\")
      endif()
    endforeach()")
endif()
configure_file(cmake/PolyadBackend.cmake.in ${PROJECT_BINARY_DIR}/install/PolyadBackend-${POLYAD_BACKEND}.cmake @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/install/PolyadBackend-${POLYAD_BACKEND}.cmake
              ${PROJECT_BINARY_DIR}/PolyadConfigVersion.cmake ${package_files} DESTINATION ${package_dir})
install(EXPORT PolyadTargets NAMESPACE Polyad:: FILE PolyadTargets-${POLYAD_BACKEND}.cmake DESTINATION ${package_dir})
