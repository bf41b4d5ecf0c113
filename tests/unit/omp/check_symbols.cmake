# Every function and constant that a compiler's OpenMP runtime exports to programs is defined and visible in
# Musubi's archives.
#   cmake -D NM=<nm> -D RUNTIME=<libgomp.so.1 or libomp.so> -D "PREFIXES=<prefix>|..." -D AT_LEAST=<count>
#         [-D LEFT_OUT=<file>] "-DARCHIVES=<archive>;..." -P check_symbols.cmake
# The file has lines `<name> <reason>` for what Musubi does not define.
cmake_policy(VERSION 3.25)

function(symbols_of output)
  execute_process(COMMAND ${NM} ${ARGN} OUTPUT_VARIABLE listing COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL " [TRD] (${PREFIXES})_[a-z][a-z0-9_]*" names "${listing}")
  list(TRANSFORM names REPLACE "^ [TRD] " "")
  list(REMOVE_DUPLICATES names)
  set(${output} ${names} PARENT_SCOPE)
endfunction()

symbols_of(wanted -D --defined-only ${RUNTIME})
symbols_of(present --defined-only ${ARCHIVES})
list(LENGTH wanted count)
if(count LESS AT_LEAST)
  message(FATAL_ERROR "only ${count} names read from ${RUNTIME}")
endif()
set(missing ${wanted})
list(REMOVE_ITEM missing ${present})
if(LEFT_OUT)
  file(STRINGS ${LEFT_OUT} lines REGEX "^[^#]")
  foreach(line IN LISTS lines)
    if(NOT line MATCHES "^([a-z0-9_]+) +[^ ]")
      message(FATAL_ERROR "${LEFT_OUT}: no name with a reason: ${line}")
    endif()
    if(CMAKE_MATCH_1 IN_LIST present)
      message(FATAL_ERROR "${LEFT_OUT}: ${CMAKE_MATCH_1} is there by now")
    endif()
    list(REMOVE_ITEM missing ${CMAKE_MATCH_1})
  endforeach()
endif()
if(missing)
  message(FATAL_ERROR "${RUNTIME} exports, but the archives lack: ${missing}")
endif()
message(STATUS "all ${count} names are there")
