# SPDX-License-Identifier: BSD-3-Clause
# Installs the tool as bin/polyad-BACKEND, with its man page and its completion for bash, and the links `polyad` to them.
# `polyad` is the openmp backend's if that is installed, else the first one's.
install(TARGETS polyad_tool)

install(CODE "set(polyad_backend ${POLYAD_BACKEND})
  set(polyad_prefix \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}\")
  set(polyad_tool \"$<TARGET_FILE:polyad_tool>\")
  set(polyad_bin \"\${polyad_prefix}/${CMAKE_INSTALL_BINDIR}\")
  set(polyad_man \"\${polyad_prefix}/${CMAKE_INSTALL_MANDIR}/man1\")
  set(polyad_completions \"\${polyad_prefix}/${CMAKE_INSTALL_DATADIR}/bash-completion/completions\")")
install(CODE [[
  if(polyad_backend STREQUAL openmp OR NOT EXISTS ${polyad_bin}/polyad OR NOT IS_SYMLINK ${polyad_bin}/polyad)
    file(CREATE_LINK polyad-${polyad_backend} ${polyad_bin}/polyad SYMBOLIC)
  endif()
  # Both pages come from the tool's own table of commands, the same one in all backends. A tool that cannot start here
  # (the cuda backend without a driver) installs none.
  function(polyad_page FILE LINK)
    cmake_path(GET FILE FILENAME name)
    execute_process(COMMAND ${polyad_tool} ${ARGN} OUTPUT_VARIABLE text RESULT_VARIABLE status)
    if(status EQUAL 0)
      file(WRITE ${FILE} "${text}")
    elseif(NOT EXISTS ${FILE})
      message(WARNING "polyad ${ARGN} ended with ${status}: ${FILE} is not installed")
    endif()
    if(EXISTS ${FILE})
      file(CREATE_LINK ${name} ${LINK} SYMBOLIC)
    endif()
  endfunction()
  polyad_page(${polyad_man}/polyad.1 ${polyad_man}/polyad-${polyad_backend}.1 --man)
  polyad_page(${polyad_completions}/polyad ${polyad_completions}/polyad-${polyad_backend} --completion bash)
]])
