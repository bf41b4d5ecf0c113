# Programs that stand for the user's: ordinary OpenMP programs, compiled by plain gcc against libgomp,
# whatever compiler builds Musubi itself (clang would call another runtime interface).

find_program(MUSUBI_GCC NAMES gcc-12 gcc REQUIRED DOC "C compiler of the OpenMP programs")
find_program(MUSUBI_GXX NAMES g++-12 g++ REQUIRED DOC "C++ compiler of the OpenMP programs")
set(MUSUBI_PROGRAM_FLAGS -O2 -fopenmp -Wall -Wextra CACHE STRING "Flags of the OpenMP programs")

# openmp_program(<name> <source>... [FOLDER <folder>] [ARGUMENTS <argument>...] [NOT_NATIVE]): builds
# <folder>/<name> in the build tree (folder defaults to the last component of the source directory), and adds
# the test native_<name>, which runs it under libgomp with ARGUMENTS (NOT_NATIVE: none). The property
# OPENMP_PROGRAM of the target program_<name> holds the path (a target <name> would collide with the file
# <folder>/<name> in ninja).
# Headers among the sources are not compiled by themselves, but a change of theirs builds the program anew.
function(openmp_program name)
  cmake_parse_arguments(PROGRAM "NOT_NATIVE" "FOLDER" "ARGUMENTS" ${ARGN})
  if(NOT PROGRAM_FOLDER)
    get_filename_component(PROGRAM_FOLDER ${CMAKE_CURRENT_SOURCE_DIR} NAME)
  endif()
  set(program ${CMAKE_BINARY_DIR}/${PROGRAM_FOLDER}/${name})
  file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/${PROGRAM_FOLDER})
  set(sources ${PROGRAM_UNPARSED_ARGUMENTS})
  list(TRANSFORM sources PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
  set(compiled ${sources})
  list(FILTER compiled EXCLUDE REGEX "\\.h$")
  set(compiler ${MUSUBI_GCC})
  if(sources MATCHES "\\.cpp")
    set(compiler ${MUSUBI_GXX})
  endif()
  add_custom_command(OUTPUT ${program}
    COMMAND ${compiler} ${MUSUBI_PROGRAM_FLAGS} -o ${program} ${compiled} -lm
    DEPENDS ${sources} COMMENT "Building OpenMP program ${PROGRAM_FOLDER}/${name}" VERBATIM)
  add_custom_target(program_${name} ALL DEPENDS ${program})
  set_target_properties(program_${name} PROPERTIES OPENMP_PROGRAM ${program})

  if(PROGRAM_NOT_NATIVE)
    return()
  endif()
  add_test(NAME native_${name} COMMAND ${program} ${PROGRAM_ARGUMENTS})
  set_tests_properties(native_${name} PROPERTIES TIMEOUT 60 LABELS native
    ENVIRONMENT "OMP_NUM_THREADS=2;OMP_WAIT_POLICY=passive")
endfunction()
