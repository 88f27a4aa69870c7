# SPDX-License-Identifier: BSD-3-Clause
# polyad_join_sources(LIST SIZE): replaces the sources in LIST, named from the calling folder, by sources that include
# SIZE of them each. nvcc reads all headers four times a source, which is most of what it takes where it only looks for
# errors. Not for a build that somebody edits: a change compiles the whole group again. (CMake's own UNITY_BUILD knows
# nvcc from 3.31 on.)
function(polyad_join_sources LIST SIZE)
  list(LENGTH ${LIST} length)
  set(joined "")
  set(first 0)
  while(first LESS length)
    list(SUBLIST ${LIST} ${first} ${SIZE} group)
    list(TRANSFORM group REPLACE ".+" "#include \"\\0\"\n")
    list(JOIN group "" includes)
    set(file ${CMAKE_CURRENT_BINARY_DIR}/joined/${LIST}_${first}.cpp)
    file(CONFIGURE OUTPUT ${file} CONTENT "${includes}" @ONLY)
    list(APPEND joined ${file})
    math(EXPR first "${first} + ${SIZE}")
  endwhile()
  set(${LIST} ${joined} PARENT_SCOPE)
endfunction()
