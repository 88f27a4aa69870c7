# SPDX-License-Identifier: BSD-3-Clause
# polyad_join_sources(LIST SIZE): replaces the sources in LIST, named from the calling folder, by sources that include
# SIZE of them each. The compiler then reads their headers once. A source with properties of its own stays as it is: it
# would lose them. (CMake's UNITY_BUILD does so, too, but knows nvcc from 3.31 on.)
function(polyad_join_sources LIST SIZE)
  set(joined "")
  foreach(source IN LISTS ${LIST})
    foreach(property IN ITEMS COMPILE_DEFINITIONS COMPILE_OPTIONS INCLUDE_DIRECTORIES)
      get_property(has_property SOURCE ${source} PROPERTY ${property} SET)
      if(has_property)
        list(APPEND joined ${source})
        list(REMOVE_ITEM ${LIST} ${source})
        break()
      endif()
    endforeach()
  endforeach()
  list(LENGTH ${LIST} length)
  set(first 0)
  while(first LESS length)
    list(SUBLIST ${LIST} ${first} ${SIZE} group)
    list(TRANSFORM group REPLACE ".+" "#include \"\\0\"\n")
    list(JOIN group "" includes)
    set(file ${CMAKE_CURRENT_BINARY_DIR}/joined/${LIST}_${first}.cpp)
    # g++ warns of included files that depend on an anonymous namespace, but these are not headers.
    file(CONFIGURE OUTPUT ${file} @ONLY CONTENT "\
#if defined(__GNUC__) && !defined(__clang__) && !defined(__CUDACC__)
#pragma GCC diagnostic ignored \"-Wsubobject-linkage\"
#endif
${includes}")
    list(APPEND joined ${file})
    math(EXPR first "${first} + ${SIZE}")
  endwhile()
  set(${LIST} ${joined} PARENT_SCOPE)
endfunction()

# polyad_join_programs(LIST): replaces the sources in LIST, each of which has a main(), by one source that a compiler can
# check. Their headers come first, and each program has a namespace of its own.
function(polyad_join_programs LIST)
  set(headers "")
  set(programs "")
  foreach(source IN LISTS ${LIST})
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
    file(STRINGS ${source} lines REGEX "^#include")
    list(APPEND headers ${lines})
    cmake_path(GET source STEM name)
    string(APPEND programs "namespace program_${name} {\n#include \"${source}\"\n}\n")
  endforeach()
  list(REMOVE_DUPLICATES headers)
  list(JOIN headers "\n" headers)
  set(file ${CMAKE_CURRENT_BINARY_DIR}/joined/programs.cpp)
  file(CONFIGURE OUTPUT ${file} @ONLY CONTENT "\
// In a namespace, main() needs a return.
#pragma nv_diag_suppress 940
${headers}
${programs}")
  set(${LIST} ${file} PARENT_SCOPE)
endfunction()
