# Every folder of src/ is one static library of the sources in that folder.

add_library(musubi_flags INTERFACE)
target_include_directories(musubi_flags INTERFACE ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/include
                           ${CMAKE_SOURCE_DIR})  # the last for simulator/
target_compile_options(musubi_flags INTERFACE
  -Wall -Wextra -Wshadow -fno-strict-aliasing -ftls-model=initial-exec
  $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor>)
if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
  # Thread-safety analysis: src/base/thread_safety.h.
  target_compile_options(musubi_flags INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-Wthread-safety> $<$<COMPILE_LANGUAGE:CXX>:-Werror=thread-safety>)
endif()
if(MUSUBI_WERROR)
  target_compile_options(musubi_flags INTERFACE -Werror)
endif()
if(CMAKE_UNITY_BUILD)
  # Sources that are compiled together see each other's names, which are not theirs outside such a build.
  target_compile_options(musubi_flags INTERFACE
    -Wno-shadow $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
endif()
if(MUSUBI_SANITIZER)
  target_compile_options(musubi_flags INTERFACE -fsanitize=${MUSUBI_SANITIZER} -fno-omit-frame-pointer)
  target_link_options(musubi_flags INTERFACE -fsanitize=${MUSUBI_SANITIZER})
  if(MUSUBI_SANITIZER STREQUAL "thread" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # The thread sanitizer does not follow fences, and gcc warns about each; it does see the atomics around
    # them.
    target_compile_options(musubi_flags INTERFACE -Wno-tsan)
  endif()
endif()
target_link_libraries(musubi_flags INTERFACE Threads::Threads)

# A program links with one build of the protocol layers; cmake refuses a mixture
# (docs/decisions/simulator.md).
define_property(TARGET PROPERTY MUSUBI_BUILD BRIEF_DOCS "shipped or simulated")

# One library musubi_<name> of the current folder's sources, for musubi_layer.
function(musubi_layer_library name)
  cmake_parse_arguments(LIBRARY "" "" "DEPENDS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp ${CMAKE_CURRENT_SOURCE_DIR}/*.S)
  list(TRANSFORM LIBRARY_DEPENDS PREPEND musubi_)
  if(sources)
    add_library(musubi_${name} STATIC ${sources})
    target_link_libraries(musubi_${name} PUBLIC musubi_flags ${LIBRARY_DEPENDS})
  else()
    add_library(musubi_${name} INTERFACE)
    target_link_libraries(musubi_${name} INTERFACE musubi_flags ${LIBRARY_DEPENDS})
  endif()
endfunction()

# musubi_simulated(<list> <layer>...): the same layers, in the simulator's build if they are built twice.
function(musubi_simulated list)
  set(chosen)
  foreach(layer ${ARGN})
    if(TARGET musubi_${layer}_simulated)
      string(APPEND layer _simulated)
    endif()
    list(APPEND chosen ${layer})
  endforeach()
  set(${list} ${chosen} PARENT_SCOPE)
endfunction()

# musubi_layer(<name> [BUILT_TWICE] [DEPENDS <layer>...]): builds the folder's sources as the library
# musubi_<name>; with BUILT_TWICE also as musubi_<name>_simulated, with the hooks of the simulator
# (hooks/hooks.h). Its dependencies must have been added before.
function(musubi_layer name)
  cmake_parse_arguments(LAYER "BUILT_TWICE" "" "DEPENDS" ${ARGN})
  musubi_layer_library(${name} DEPENDS ${LAYER_DEPENDS})
  if(LAYER_BUILT_TWICE)
    musubi_simulated(simulated ${LAYER_DEPENDS})
    musubi_layer_library(${name}_simulated DEPENDS ${simulated})
  endif()
endfunction()

# All tests except those of the simulator, which has one thread.
add_custom_target(tests_of_threads)

# musubi_test(<name> [SIMULATED] SOURCES ... [DEPENDS <layer>...] [LABELS ...] [TIMEOUT s]): one GoogleTest
# program, registered test by test so that ctest names the test that failed. SIMULATED: uses the simulator's
# build, and gets its label.
function(musubi_test name)
  cmake_parse_arguments(TEST "SIMULATED" "TIMEOUT" "SOURCES;DEPENDS;LABELS" ${ARGN})
  if(NOT TEST_TIMEOUT)
    set(TEST_TIMEOUT 120)
  endif()
  add_executable(${name} ${TEST_SOURCES})
  if(TEST_SIMULATED)
    musubi_simulated(TEST_DEPENDS ${TEST_DEPENDS})
    list(APPEND TEST_LABELS simulated)
  elseif(NOT "budget" IN_LIST TEST_LABELS)
    add_dependencies(tests_of_threads ${name})
  endif()
  # Its few sources may use the same names.
  set_target_properties(${name} PROPERTIES UNITY_BUILD OFF)
  list(TRANSFORM TEST_DEPENDS PREPEND musubi_)
  target_link_libraries(${name} PRIVATE musubi_flags ${TEST_DEPENDS} GTest::gtest_main)
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES TIMEOUT ${TEST_TIMEOUT} LABELS "${TEST_LABELS}")
  # Tests that start whole jobs run one at a time: one job wants more than a few cores.
  if(TEST_LABELS MATCHES "system|stress")
    set_tests_properties(${name} PROPERTIES RESOURCE_LOCK cores)
  endif()
endfunction()
