// Loops: every schedule, for long and for unsigned long long, plain and ordered.
#include "omp/entry.h"
#include "omp/gomp/loop_values.h"
#include "omp/gomp/reductions.h"
#include "omp/team.h"

using namespace musubi::omp;
using gomp::next;
using gomp::specify;
using gomp::specify_coded;
using gomp::specify_runtime;
using gomp::start;

using Long = long;
using Ull = unsigned long long;

namespace {

// GOMP_loop_start: with task reductions, memory of the construct, or without a chunk (the loop is divided
// inline).
template <class Value>
bool start_general(const LoopSpecification& specification, Value* first, Value* end,
                   std::uintptr_t* reductions, void** memory) {
  ImplicitTask& task = implicit_task();
  if (reductions != nullptr) gomp::worksharing_reduction_begin(reductions);
  if (memory != nullptr) *memory = construct_memory(task, reinterpret_cast<std::uintptr_t>(*memory));
  if (first == nullptr) return true;
  return start(specification, first, end);
}

}  // namespace

extern "C" {

#define MUSUBI_LOOP(name, schedule, ordered)                                                               \
  MUSUBI_EXPORT bool GOMP_loop_##name##_start(Long from, Long to, Long step, Long chunk, Long* first,      \
                                              Long* end) {                                                 \
    MUSUBI_OMP_ENTRY();                                                                                    \
    return start(                                                                                          \
        specify(IterationSpace::of(from, to, step), schedule, static_cast<std::uint64_t>(chunk), ordered), \
        first, end);                                                                                       \
  }                                                                                                        \
  MUSUBI_EXPORT bool GOMP_loop_ull_##name##_start(bool up, Ull from, Ull to, Ull step, Ull chunk,          \
                                                  Ull* first, Ull* end) {                                  \
    MUSUBI_OMP_ENTRY();                                                                                    \
    return start(specify(IterationSpace::of(up, from, to, step), schedule, chunk, ordered), first, end);   \
  }
#define MUSUBI_LOOP_RUNTIME(name, ordered)                                                             \
  MUSUBI_EXPORT bool GOMP_loop_##name##_start(Long from, Long to, Long step, Long* first, Long* end) { \
    MUSUBI_OMP_ENTRY();                                                                                \
    return start(specify_runtime(IterationSpace::of(from, to, step), ordered), first, end);            \
  }                                                                                                    \
  MUSUBI_EXPORT bool GOMP_loop_ull_##name##_start(bool up, Ull from, Ull to, Ull step, Ull* first,     \
                                                  Ull* end) {                                          \
    MUSUBI_OMP_ENTRY();                                                                                \
    return start(specify_runtime(IterationSpace::of(up, from, to, step), ordered), first, end);        \
  }
#define MUSUBI_LOOP_NEXT(name)                                           \
  MUSUBI_EXPORT bool GOMP_loop_##name##_next(Long* first, Long* end) {   \
    MUSUBI_OMP_ENTRY();                                                  \
    return next(first, end);                                             \
  }                                                                      \
  MUSUBI_EXPORT bool GOMP_loop_ull_##name##_next(Ull* first, Ull* end) { \
    MUSUBI_OMP_ENTRY();                                                  \
    return next(first, end);                                             \
  }

MUSUBI_LOOP(static, Schedule::static_chunks, false)
MUSUBI_LOOP(dynamic, Schedule::dynamic, false)
MUSUBI_LOOP(guided, Schedule::guided, false)
MUSUBI_LOOP(nonmonotonic_dynamic, Schedule::dynamic, false)
MUSUBI_LOOP(nonmonotonic_guided, Schedule::guided, false)
MUSUBI_LOOP(ordered_static, Schedule::static_chunks, true)
MUSUBI_LOOP(ordered_dynamic, Schedule::dynamic, true)
MUSUBI_LOOP(ordered_guided, Schedule::guided, true)
MUSUBI_LOOP_RUNTIME(runtime, false)
MUSUBI_LOOP_RUNTIME(nonmonotonic_runtime, false)
MUSUBI_LOOP_RUNTIME(maybe_nonmonotonic_runtime, false)
MUSUBI_LOOP_RUNTIME(ordered_runtime, true)
MUSUBI_LOOP_NEXT(static)
MUSUBI_LOOP_NEXT(dynamic)
MUSUBI_LOOP_NEXT(guided)
MUSUBI_LOOP_NEXT(runtime)
MUSUBI_LOOP_NEXT(nonmonotonic_dynamic)
MUSUBI_LOOP_NEXT(nonmonotonic_guided)
MUSUBI_LOOP_NEXT(nonmonotonic_runtime)
MUSUBI_LOOP_NEXT(maybe_nonmonotonic_runtime)
MUSUBI_LOOP_NEXT(ordered_static)
MUSUBI_LOOP_NEXT(ordered_dynamic)
MUSUBI_LOOP_NEXT(ordered_guided)
MUSUBI_LOOP_NEXT(ordered_runtime)

#define MUSUBI_LOOP_GENERAL(name, ordered)                                                                   \
  MUSUBI_EXPORT bool GOMP_loop_##name(Long from, Long to, Long step, long schedule, Long chunk, Long* first, \
                                      Long* end, std::uintptr_t* reductions, void** memory) {                \
    MUSUBI_OMP_ENTRY();                                                                                      \
    return start_general(specify_coded(IterationSpace::of(from, to, step), schedule,                         \
                                       static_cast<std::uint64_t>(chunk), ordered),                          \
                         first, end, reductions, memory);                                                    \
  }                                                                                                          \
  MUSUBI_EXPORT bool GOMP_loop_ull_##name(bool up, Ull from, Ull to, Ull step, long schedule, Ull chunk,     \
                                          Ull* first, Ull* end, std::uintptr_t* reductions, void** memory) { \
    MUSUBI_OMP_ENTRY();                                                                                      \
    return start_general(specify_coded(IterationSpace::of(up, from, to, step), schedule, chunk, ordered),    \
                         first, end, reductions, memory);                                                    \
  }
MUSUBI_LOOP_GENERAL(start, false)
MUSUBI_LOOP_GENERAL(ordered_start, true)

MUSUBI_EXPORT void GOMP_loop_end() {
  MUSUBI_OMP_ENTRY();
  loop_end(implicit_task());
  barrier(nullptr, events::Sync::end_of_loop);
}

MUSUBI_EXPORT void GOMP_loop_end_nowait() {
  MUSUBI_OMP_CALL();
  loop_end(implicit_task());
}

MUSUBI_EXPORT void GOMP_ordered_start() {
  MUSUBI_OMP_ENTRY();
  ordered_begin(implicit_task());
}

MUSUBI_EXPORT void GOMP_ordered_end() {
  MUSUBI_OMP_ENTRY();
  ordered_end(implicit_task());
}

}  // extern "C"
