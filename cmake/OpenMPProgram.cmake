# Programs that stand for those of users: ordinary OpenMP programs, compiled by plain gcc against libgomp,
# whichever compiler builds Musubi itself (clang would call another runtime interface).

find_program(MUSUBI_GCC NAMES gcc-12 gcc REQUIRED DOC "C compiler of the OpenMP programs")
find_program(MUSUBI_GXX NAMES g++-12 g++ REQUIRED DOC "C++ compiler of the OpenMP programs")
set(MUSUBI_PROGRAM_FLAGS -O2 -fopenmp -Wall -Wextra CACHE STRING "Flags of the OpenMP programs")

# openmp_library(<name> <source>... [FOLDER <folder>] [FLAGS <flag>...]): builds <folder>/lib<name>.so, for
# programs that name it under LIBRARIES or load it at run time. The target is library_<name>.
function(openmp_library name)
  cmake_parse_arguments(LIBRARY "" "FOLDER" "FLAGS" ${ARGN})
  set(library ${CMAKE_BINARY_DIR}/${LIBRARY_FOLDER}/lib${name}.so)
  file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/${LIBRARY_FOLDER})
  set(sources ${LIBRARY_UNPARSED_ARGUMENTS})
  list(TRANSFORM sources PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
  set(compiled ${sources})
  list(FILTER compiled EXCLUDE REGEX "\\.h$")
  set(compiler ${MUSUBI_GCC})
  if(sources MATCHES "\\.cpp")
    set(compiler ${MUSUBI_GXX})
  endif()
  add_custom_command(OUTPUT ${library}
    COMMAND ${compiler} ${MUSUBI_PROGRAM_FLAGS} ${LIBRARY_FLAGS} -shared -fPIC -o ${library} ${compiled}
    DEPENDS ${sources} COMMENT "Building OpenMP library ${LIBRARY_FOLDER}/lib${name}.so" VERBATIM)
  add_custom_target(library_${name} ALL DEPENDS ${library})
endfunction()

# openmp_program(<name> <source>... [FOLDER <folder>] [ARGUMENTS <argument>...] [LIBRARIES <name>...]
# [NOT_NATIVE]): builds <folder>/<name> in the build tree (folder defaults to the last component of the source
# directory), and adds the test native_<name>, which runs it under libgomp with ARGUMENTS (NOT_NATIVE: none).
# The property OPENMP_PROGRAM of the target program_<name> holds the path (a target <name> would collide with
# the file <folder>/<name> in ninja). Headers among the sources are only dependencies.
function(openmp_program name)
  cmake_parse_arguments(PROGRAM "NOT_NATIVE" "FOLDER" "ARGUMENTS;LIBRARIES" ${ARGN})
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
  elseif(sources MATCHES "\\.f90")
    set(compiler ${MUSUBI_GFORTRAN})
  endif()
  set(libraries ${PROGRAM_LIBRARIES})
  list(TRANSFORM libraries REPLACE "(.+)" "${CMAKE_BINARY_DIR}/${PROGRAM_FOLDER}/lib\\1.so")
  set(link_flags)
  if(libraries)
    set(link_flags -Wl,-rpath,${CMAKE_BINARY_DIR}/${PROGRAM_FOLDER})
  endif()
  add_custom_command(OUTPUT ${program}
    COMMAND ${compiler} ${MUSUBI_PROGRAM_FLAGS} -o ${program} ${compiled} ${libraries} ${link_flags} -lm -ldl
    DEPENDS ${sources} ${libraries} COMMENT "Building OpenMP program ${PROGRAM_FOLDER}/${name}" VERBATIM)
  add_custom_target(program_${name} ALL DEPENDS ${program})
  set_target_properties(program_${name} PROPERTIES OPENMP_PROGRAM ${program})

  if(PROGRAM_NOT_NATIVE)
    return()
  endif()
  add_test(NAME native_${name} COMMAND ${program} ${PROGRAM_ARGUMENTS})
  set_tests_properties(native_${name} PROPERTIES TIMEOUT 60 LABELS native
    ENVIRONMENT "OMP_NUM_THREADS=2;OMP_WAIT_POLICY=passive")
endfunction()
