# Every folder of src/ is one static library with the sources that lie in it.

add_library(musubi_flags INTERFACE)
target_include_directories(musubi_flags INTERFACE ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/include)
target_compile_options(musubi_flags INTERFACE
  -Wall -Wextra -Wshadow -fno-strict-aliasing -ftls-model=initial-exec
  $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor>)
if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
  # What src/base/thread_safety.h says of locks.
  target_compile_options(musubi_flags INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-Wthread-safety> $<$<COMPILE_LANGUAGE:CXX>:-Werror=thread-safety>)
endif()
if(MUSUBI_WERROR)
  target_compile_options(musubi_flags INTERFACE -Werror)
endif()
if(MUSUBI_SANITIZER)
  target_compile_options(musubi_flags INTERFACE -fsanitize=${MUSUBI_SANITIZER} -fno-omit-frame-pointer)
  target_link_options(musubi_flags INTERFACE -fsanitize=${MUSUBI_SANITIZER})
  if(MUSUBI_SANITIZER STREQUAL "thread" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # The thread sanitizer does not follow fences, and gcc warns of each; the atomics around them it sees.
    target_compile_options(musubi_flags INTERFACE -Wno-tsan)
  endif()
endif()
target_link_libraries(musubi_flags INTERFACE Threads::Threads)

# musubi_layer(<name> [DEPENDS <layer>...]): the folder's sources as the library musubi_<name>.
function(musubi_layer name)
  cmake_parse_arguments(LAYER "" "" "DEPENDS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp ${CMAKE_CURRENT_SOURCE_DIR}/*.S)
  if(sources)
    add_library(musubi_${name} STATIC ${sources})
    target_link_libraries(musubi_${name} PUBLIC musubi_flags)
    list(TRANSFORM LAYER_DEPENDS PREPEND musubi_)
    target_link_libraries(musubi_${name} PUBLIC ${LAYER_DEPENDS})
  else()
    add_library(musubi_${name} INTERFACE)
    list(TRANSFORM LAYER_DEPENDS PREPEND musubi_)
    target_link_libraries(musubi_${name} INTERFACE musubi_flags ${LAYER_DEPENDS})
  endif()
endfunction()

# musubi_test(<name> SOURCES ... [DEPENDS <layer>...] [LABELS ...] [TIMEOUT s]): one GoogleTest program,
# registered test by test so that ctest names what failed.
function(musubi_test name)
  cmake_parse_arguments(TEST "" "TIMEOUT" "SOURCES;DEPENDS;LABELS" ${ARGN})
  if(NOT TEST_TIMEOUT)
    set(TEST_TIMEOUT 120)
  endif()
  add_executable(${name} ${TEST_SOURCES})
  list(TRANSFORM TEST_DEPENDS PREPEND musubi_)
  target_link_libraries(${name} PRIVATE musubi_flags ${TEST_DEPENDS} GTest::gtest_main)
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES TIMEOUT ${TEST_TIMEOUT} LABELS "${TEST_LABELS}")
  # Tests that start whole jobs are not run beside each other: a few cores are less than one of them wants.
  if(TEST_LABELS MATCHES "system|stress")
    set_tests_properties(${name} PROPERTIES RESOURCE_LOCK cores)
  endif()
endfunction()
