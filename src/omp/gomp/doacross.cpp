// Loops with dependences between iterations: ordered(n), depend(sink) and depend(source).
#include <alloca.h>

#include <algorithm>
#include <cstdarg>

#include "omp/entry.h"
#include "omp/gomp/loop_values.h"
#include "omp/gomp/reductions.h"
#include "omp/worksharing.h"

using namespace musubi::omp;

using Long = long;
using Ull = unsigned long long;

namespace {

template <class Value>
bool begin(unsigned count, const Value* extents, Schedule schedule, Value chunk, Value* first, Value* end) {
  auto* converted = static_cast<std::uint64_t*>(alloca(count * sizeof(std::uint64_t)));
  std::copy_n(extents, count, converted);
  const IterationSpace positions{0, converted[0], 1, converted[0]};
  doacross_begin(implicit_task(), positions, {converted, count}, schedule, static_cast<std::uint64_t>(chunk));
  return gomp::next(first, end);
}

template <class Value>
bool begin_runtime(unsigned count, const Value* extents, Value* first, Value* end) {
  const LoopSpecification chosen = gomp::specify_runtime({}, false);
  return begin(count, extents, chosen.schedule, static_cast<Value>(chosen.chunk), first, end);
}

template <class Value>
bool begin_coded(unsigned count, const Value* extents, long code, Value chunk, Value* first, Value* end,
                 std::uintptr_t* reductions, void** memory) {
  ImplicitTask& task = implicit_task();
  if (reductions != nullptr) gomp::worksharing_reduction_begin(reductions);
  // Only the memory for a lastprivate or scan is visible to the program; libgomp's data after it are not
  // needed.
  if (memory != nullptr) *memory = construct_memory(task, reinterpret_cast<std::uintptr_t>(*memory));
  const auto chosen = gomp::specify_coded({}, code, static_cast<std::uint64_t>(chunk), false);
  return begin(count, extents, chosen.schedule, static_cast<Value>(chosen.chunk), first, end);
}

template <class Value>
void post(const Value* coordinates) {
  ImplicitTask& task = implicit_task();
  auto* converted = static_cast<std::uint64_t*>(alloca(task.loop.nest * sizeof(std::uint64_t)));
  std::copy_n(coordinates, task.loop.nest, converted);
  doacross_post(task, converted);
}

// The coordinates after the first one are arguments of type Value.
template <class Value>
void wait(Value first, va_list& others) {
  ImplicitTask& task = implicit_task();
  auto* coordinates = static_cast<std::uint64_t*>(alloca(task.loop.nest * sizeof(std::uint64_t)));
  coordinates[0] = static_cast<std::uint64_t>(first);
  for (unsigned depth = 1; depth < task.loop.nest; ++depth) {
    coordinates[depth] = static_cast<std::uint64_t>(va_arg(others, Value));
  }
  doacross_wait(task, coordinates);
}

}  // namespace

extern "C" {

#define MUSUBI_DOACROSS(family, Value)                                                                    \
  MUSUBI_EXPORT bool GOMP_##family##_doacross_static_start(unsigned count, Value* extents, Value chunk,   \
                                                           Value* first, Value* end) {                    \
    MUSUBI_OMP_ENTRY();                                                                                   \
    return begin(count, extents, Schedule::static_chunks, chunk, first, end);                             \
  }                                                                                                       \
  MUSUBI_EXPORT bool GOMP_##family##_doacross_dynamic_start(unsigned count, Value* extents, Value chunk,  \
                                                            Value* first, Value* end) {                   \
    MUSUBI_OMP_ENTRY();                                                                                   \
    return begin(count, extents, Schedule::dynamic, chunk, first, end);                                   \
  }                                                                                                       \
  MUSUBI_EXPORT bool GOMP_##family##_doacross_guided_start(unsigned count, Value* extents, Value chunk,   \
                                                           Value* first, Value* end) {                    \
    MUSUBI_OMP_ENTRY();                                                                                   \
    return begin(count, extents, Schedule::guided, chunk, first, end);                                    \
  }                                                                                                       \
  MUSUBI_EXPORT bool GOMP_##family##_doacross_runtime_start(unsigned count, Value* extents, Value* first, \
                                                            Value* end) {                                 \
    MUSUBI_OMP_ENTRY();                                                                                   \
    return begin_runtime(count, extents, first, end);                                                     \
  }                                                                                                       \
  MUSUBI_EXPORT bool GOMP_##family##_doacross_start(unsigned count, Value* extents, long schedule,        \
                                                    Value chunk, Value* first, Value* end,                \
                                                    std::uintptr_t* reductions, void** memory) {          \
    MUSUBI_OMP_ENTRY();                                                                                   \
    return begin_coded(count, extents, schedule, chunk, first, end, reductions, memory);                  \
  }
MUSUBI_DOACROSS(loop, Long)
MUSUBI_DOACROSS(loop_ull, Ull)

MUSUBI_EXPORT void GOMP_doacross_post(Long* coordinates) {
  MUSUBI_OMP_ENTRY();
  post(coordinates);
}

MUSUBI_EXPORT void GOMP_doacross_ull_post(Ull* coordinates) {
  MUSUBI_OMP_ENTRY();
  post(coordinates);
}

MUSUBI_EXPORT void GOMP_doacross_wait(Long first, ...) {
  MUSUBI_OMP_ENTRY();
  va_list others;
  va_start(others, first);
  wait(first, others);
  va_end(others);
}

MUSUBI_EXPORT void GOMP_doacross_ull_wait(Ull first, ...) {
  MUSUBI_OMP_ENTRY();
  va_list others;
  va_start(others, first);
  wait(first, others);
  va_end(others);
}

}  // extern "C"
