// Places and the binding of threads to them, in C and in Fortran.
#include "omp/places.h"

#include <algorithm>

#include "omp/entry.h"
#include "omp/job.h"

using namespace musubi::omp;

namespace {

// Null: there are no places.
Places* places() {
  Job* const job = Job::current();
  return job != nullptr && job->places.exist() ? &job->places : nullptr;
}

musubi::os::Processors processors_of(long place) {
  Places* const all = places();
  return all == nullptr || place < 0 || place > INT32_MAX
             ? musubi::os::Processors{}
             : all->processors_of(static_cast<std::uint32_t>(place));
}

PlacePartition partition() {
  Places* const all = places();
  return all == nullptr ? PlacePartition{} : all->partition_of(implicit_task());
}

template <class Number>
void store_processors(long place, Number* ids) {
  for (const std::uint32_t processor : processors_of(place)) *ids++ = static_cast<Number>(processor);
}

template <class Number>
void store_partition(Number* numbers) {
  const PlacePartition own = partition();
  for (std::uint32_t i = 0; i < own.count; ++i) numbers[i] = static_cast<Number>(own.first + i);
}

}  // namespace

extern "C" {

MUSUBI_EXPORT int omp_get_proc_bind() {
  const Job* const job = Job::current();
  return job == nullptr ? 0 : static_cast<int>(job->environment.bind_at(implicit_task().level));
}
MUSUBI_EXPORT int omp_get_num_places() {
  Places* const all = places();
  return all == nullptr ? 0 : static_cast<int>(all->count());
}
MUSUBI_EXPORT int omp_get_place_num_procs(int place) {
  return static_cast<int>(processors_of(place).size());
}
MUSUBI_EXPORT void omp_get_place_proc_ids(int place, int* ids) {
  store_processors(place, ids);
}
MUSUBI_EXPORT void omp_get_place_proc_ids_(const int* place, int* ids) {
  store_processors(*place, ids);
}
MUSUBI_EXPORT void omp_get_place_proc_ids_8_(const long* place, long* ids) {
  store_processors(*place, ids);
}
MUSUBI_EXPORT int omp_get_place_num() {
  return this_thread().place;
}
MUSUBI_EXPORT int omp_get_partition_num_places() {
  return static_cast<int>(partition().count);
}
MUSUBI_EXPORT void omp_get_partition_place_nums(int* numbers) {
  store_partition(numbers);
}
MUSUBI_EXPORT void omp_get_partition_place_nums_(int* numbers) {
  store_partition(numbers);
}
MUSUBI_EXPORT void omp_get_partition_place_nums_8_(long* numbers) {
  store_partition(numbers);
}

}  // extern "C"
