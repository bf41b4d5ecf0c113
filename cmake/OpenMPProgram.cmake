# Programs that stand for those of users: ordinary OpenMP programs, compiled by plain gcc against libgomp, or
# by clang or flang against LLVM's libomp, whichever compiler builds Musubi itself.

find_program(MUSUBI_GCC NAMES gcc-12 gcc REQUIRED DOC "C compiler of the OpenMP programs")
find_program(MUSUBI_GXX NAMES g++-12 g++ REQUIRED DOC "C++ compiler of the OpenMP programs")
set(MUSUBI_PROGRAM_FLAGS -O2 -fopenmp -Wall -Wextra CACHE STRING "Flags of the OpenMP programs")

# The newest clang and flang whose OpenMP headers and runtime are installed, if any: packages are optional.
function(find_llvm_compiler variable source)
  if(DEFINED ${variable})
    return()
  endif()
  set(program ${CMAKE_BINARY_DIR}/CMakeFiles/openmp_by_llvm)
  foreach(compiler ${ARGN})
    find_program(found_${compiler} ${compiler})
    mark_as_advanced(found_${compiler})
    if(found_${compiler})
      execute_process(COMMAND ${found_${compiler}} -fopenmp ${source} -o ${program}
                      RESULT_VARIABLE status OUTPUT_QUIET ERROR_QUIET)
      if(status EQUAL 0)
        set(${variable} ${found_${compiler}} CACHE FILEPATH "Compiler of OpenMP programs for LLVM's libomp")
        return()
      endif()
    endif()
  endforeach()
  message(STATUS "no compiler among ${ARGN} has its OpenMP library: tests of its programs are left out "
                 "(dev/packages names the packages)")
  set(${variable} "" CACHE FILEPATH "Compiler of OpenMP programs for LLVM's libomp")
endfunction()
set(probes ${CMAKE_BINARY_DIR}/CMakeFiles/openmp_probe)
file(WRITE ${probes}.c "#include <omp.h>
int main(void) {
#pragma omp parallel
  omp_get_thread_num();
  return 0;
}
")
file(WRITE ${probes}.f90 "program p\n  use omp_lib\n  !$omp parallel\n  !$omp end parallel\nend program\n")
foreach(number RANGE 22 14 -1)
  list(APPEND clangs clang-${number})
  # Older flangs refuse correct programs, or end by a segmentation fault.
  if(number GREATER_EQUAL 19)
    list(APPEND flangs flang-${number} flang-new-${number})
  endif()
endforeach()
find_llvm_compiler(MUSUBI_OPENMP_CLANG ${probes}.c ${clangs} clang)
find_llvm_compiler(MUSUBI_OPENMP_FLANG ${probes}.f90 ${flangs} flang flang-new)

# choose_compiler(<by> <sources>): sets `compiler` to that of the sources: by gcc, or by clang.
macro(choose_compiler by sources)
  if("${by}" STREQUAL "clang" AND "${sources}" MATCHES "\\.f90")
    set(compiler ${MUSUBI_OPENMP_FLANG})
  elseif("${by}" STREQUAL "clang")
    set(compiler ${MUSUBI_OPENMP_CLANG})
    if("${sources}" MATCHES "\\.cpp")
      list(APPEND compiler --driver-mode=g++)
    endif()
  elseif("${sources}" MATCHES "\\.cpp")
    set(compiler ${MUSUBI_GXX})
  elseif("${sources}" MATCHES "\\.f90")
    set(compiler ${MUSUBI_GFORTRAN})
  else()
    set(compiler ${MUSUBI_GCC})
  endif()
endmacro()

# openmp_library(<name> <source>... [FOLDER <folder>] [FLAGS <flag>...] [BY clang]): builds
# <folder>/lib<name>.so, for programs that name it under LIBRARIES or load it at run time. The target is
# library_<name>.
function(openmp_library name)
  cmake_parse_arguments(LIBRARY "" "FOLDER;BY" "FLAGS" ${ARGN})
  set(library ${CMAKE_BINARY_DIR}/${LIBRARY_FOLDER}/lib${name}.so)
  file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/${LIBRARY_FOLDER})
  set(sources ${LIBRARY_UNPARSED_ARGUMENTS})
  list(TRANSFORM sources PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
  set(compiled ${sources})
  list(FILTER compiled EXCLUDE REGEX "\\.h$")
  choose_compiler("${LIBRARY_BY}" "${sources}")
  add_custom_command(OUTPUT ${library}
    COMMAND ${compiler} ${MUSUBI_PROGRAM_FLAGS} ${LIBRARY_FLAGS} -shared -fPIC -o ${library} ${compiled}
    DEPENDS ${sources} COMMENT "Building OpenMP library ${LIBRARY_FOLDER}/lib${name}.so" VERBATIM)
  add_custom_target(library_${name} ALL DEPENDS ${library})
endfunction()

# openmp_program(<name> <source>... [FOLDER <folder>] [ARGUMENTS <argument>...] [LIBRARIES <name>...]
# [BY clang] [NOT_NATIVE]): builds <folder>/<name> in the build tree (folder defaults to the last component of
# the source directory), and adds the test native_<name>, which runs it under its own runtime with ARGUMENTS
# (NOT_NATIVE: none).
# The property OPENMP_PROGRAM of the target program_<name> holds the path (a target <name> would collide with
# the file <folder>/<name> in ninja). Headers among the sources are only dependencies.
function(openmp_program name)
  cmake_parse_arguments(PROGRAM "NOT_NATIVE" "FOLDER;BY" "ARGUMENTS;LIBRARIES" ${ARGN})
  if(NOT PROGRAM_FOLDER)
    get_filename_component(PROGRAM_FOLDER ${CMAKE_CURRENT_SOURCE_DIR} NAME)
  endif()
  set(program ${CMAKE_BINARY_DIR}/${PROGRAM_FOLDER}/${name})
  file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/${PROGRAM_FOLDER})
  set(sources ${PROGRAM_UNPARSED_ARGUMENTS})
  list(TRANSFORM sources PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
  set(compiled ${sources})
  list(FILTER compiled EXCLUDE REGEX "\\.h$")
  choose_compiler("${PROGRAM_BY}" "${sources}")
  # flang knows fewer options, and has no switch for warnings.
  set(flags ${MUSUBI_PROGRAM_FLAGS})
  if(PROGRAM_BY STREQUAL "clang" AND sources MATCHES "\\.f90")
    list(FILTER flags EXCLUDE REGEX "^-W[^l]")
  endif()
  set(libraries ${PROGRAM_LIBRARIES})
  list(TRANSFORM libraries REPLACE "(.+)" "${CMAKE_BINARY_DIR}/${PROGRAM_FOLDER}/lib\\1.so")
  set(link_flags)
  if(libraries)
    set(link_flags -Wl,-rpath,${CMAKE_BINARY_DIR}/${PROGRAM_FOLDER})
  endif()
  add_custom_command(OUTPUT ${program}
    COMMAND ${compiler} ${flags} -o ${program} ${compiled} ${libraries} ${link_flags} -lm -ldl
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
