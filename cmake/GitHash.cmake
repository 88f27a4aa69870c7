# SPDX-License-Identifier: BSD-3-Clause
# Sets OUT to the commit of the source tree, followed by "-dirty" if tracked files differed from it when CMake
# ran, or to "unknown" outside git. Configures anew after each commit.
function(polyad_git_hash OUT)
  set(hash unknown)
  find_package(Git QUIET)
  if(Git_FOUND AND EXISTS ${PROJECT_SOURCE_DIR}/.git)
    execute_process(
      COMMAND ${GIT_EXECUTABLE} rev-parse --short=12 HEAD
      WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
      OUTPUT_VARIABLE commit
      OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET
      RESULT_VARIABLE status)
    if(status EQUAL 0)
      set(hash ${commit})
      execute_process(
        COMMAND ${GIT_EXECUTABLE} diff --quiet HEAD
        WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
        OUTPUT_QUIET ERROR_QUIET
        RESULT_VARIABLE differs)
      if(differs EQUAL 1)
        string(APPEND hash -dirty)
      endif()
      execute_process(
        COMMAND ${GIT_EXECUTABLE} rev-parse --git-path logs/HEAD
        WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
        OUTPUT_VARIABLE log
        OUTPUT_STRIP_TRAILING_WHITESPACE)
      cmake_path(ABSOLUTE_PATH log BASE_DIRECTORY ${PROJECT_SOURCE_DIR})
      if(EXISTS ${log})
        set_property(DIRECTORY ${PROJECT_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${log})
      endif()
    endif()
  endif()
  set(${OUT} ${hash} PARENT_SCOPE)
endfunction()
