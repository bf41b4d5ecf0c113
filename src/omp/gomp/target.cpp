// Target regions and their data. A job has no device but the host: a region runs in the thread that
// encounters it, as a new initial task, and every variable is present.
#include <alloca.h>

#include <algorithm>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "omp/entry.h"
#include "omp/gomp/dependences.h"
#include "omp/job.h"
#include "omp/parallel.h"
#include "omp/tasks.h"

using namespace musubi::omp;

namespace {

// gomp-constants.h of gcc 12.
constexpr int device_of_task = -1, device_host = -2;
constexpr unsigned map_kind_mask = 0xff, map_alignment_shift = 8, map_firstprivate = 12;
constexpr std::uintptr_t argument_device_mask = 0x7f, argument_is_next = 0x80, argument_mask = 0xff00,
                         argument_thread_limit = 0x200;
constexpr unsigned argument_value_shift = 16;

void require_host(int device) {
  const Job* job = Job::current();
  if (job == nullptr || !job->environment.target_mandatory) return;
  if (device == device_of_task) device = current_task().icv.default_device;
  if (device == device_host || device == initial_device) return;
  unsupported("OMP_TARGET_OFFLOAD=mandatory with a device other than the host",
              "the job has none; unset OMP_TARGET_OFFLOAD");
}

// Clauses that the compiler passes as words up to a null word.
void apply_arguments(void** arguments, Icv& icv) {
  for (; arguments != nullptr && *arguments != nullptr; ++arguments) {
    const auto word = reinterpret_cast<std::uintptr_t>(*arguments);
    const bool in_next = (word & argument_is_next) != 0;
    const auto value = in_next ? reinterpret_cast<std::intptr_t>(*++arguments)
                               : static_cast<std::intptr_t>(word) >> argument_value_shift;
    const bool for_all = (word & argument_device_mask) == 0;
    if (for_all && (word & argument_mask) == argument_thread_limit && value > 0) {
      icv.thread_limit = static_cast<std::uint32_t>(std::min<std::intptr_t>(value, INT_MAX));
    }
  }
}

void run_on_host(Function function, void* data, void** arguments) {
  InitialTaskScope scope;
  if (const Job* job = Job::current())
    scope.task().icv = opens_over_ranks(*job, scope.task()) ? job->environment.initial : job->icv_of_rank();
  apply_arguments(arguments, scope.task().icv);
  function(data);
}

// Variables of firstprivate clauses: the region gets copies, contiguous in memory with this alignment.
struct Copies {
  std::size_t bytes = 0;
  std::size_t alignment = 1;

  // The offset of the next one.
  std::size_t place(std::size_t size, std::size_t its_alignment) {
    const std::size_t at = (bytes + its_alignment - 1) / its_alignment * its_alignment;
    bytes = at + size;
    alignment = std::max(alignment, its_alignment);
    return at;
  }
};

// An argument that the caller omitted has no address, and the region sees that.
bool is_copied(unsigned short kind, const void* address) {
  return (kind & map_kind_mask) == map_firstprivate && address != nullptr;
}

std::size_t alignment_of(unsigned short kind) {
  return std::size_t{1} << (kind >> map_alignment_shift);
}

void copy_variables(std::byte* memory, std::size_t count, void** addresses, const std::size_t* sizes,
                    const unsigned short* kinds) {
  Copies copies;
  for (std::size_t i = 0; i < count; ++i) {
    if (!is_copied(kinds[i], addresses[i])) continue;
    std::byte* copy = memory + copies.place(sizes[i], alignment_of(kinds[i]));
    std::memcpy(copy, addresses[i], sizes[i]);
    addresses[i] = copy;
  }
}

// The tasks on which the construct depends.
void wait_for(void* const* dependences) {
  if (dependences != nullptr) wait_for_dependences(gomp::Dependences(dependences).all());
}

}  // namespace

extern "C" {

MUSUBI_EXPORT void GOMP_target(int device, Function function, const void* /*unused*/, std::size_t /*count*/,
                               void** addresses, std::size_t* /*sizes*/, unsigned char* /*kinds*/) {
  MUSUBI_OMP_ENTRY();
  require_host(device);
  run_on_host(function, addresses, nullptr);
}

// The region runs at once, also with `nowait`, after the tasks that it may depend on.
MUSUBI_EXPORT void GOMP_target_ext(int device, Function function, std::size_t count, void** addresses,
                                   std::size_t* sizes, unsigned short* kinds, unsigned /*flags*/,
                                   void** dependences, void** arguments) {
  MUSUBI_OMP_ENTRY();
  require_host(device);
  wait_for(dependences);
  Copies copies;
  for (std::size_t i = 0; i < count; ++i) {
    if (is_copied(kinds[i], addresses[i])) copies.place(sizes[i], alignment_of(kinds[i]));
  }
  if (copies.bytes > 0) {
    const auto start = reinterpret_cast<std::uintptr_t>(alloca(copies.bytes + copies.alignment - 1));
    const std::uintptr_t aligned = (start + copies.alignment - 1) & ~(copies.alignment - 1);
    copy_variables(reinterpret_cast<std::byte*>(aligned), count, addresses, sizes, kinds);
  }
  run_on_host(function, addresses, arguments);
}

MUSUBI_EXPORT void GOMP_target_data(int device, const void* /*unused*/, std::size_t /*count*/,
                                    void** /*addresses*/, std::size_t* /*sizes*/, unsigned char* /*kinds*/) {
  require_host(device);
}
MUSUBI_EXPORT void GOMP_target_data_ext(int device, std::size_t /*count*/, void** /*addresses*/,
                                        std::size_t* /*sizes*/, unsigned short* /*kinds*/) {
  require_host(device);
}
MUSUBI_EXPORT void GOMP_target_end_data() {}
MUSUBI_EXPORT void GOMP_target_update(int device, const void* /*unused*/, std::size_t /*count*/,
                                      void** /*addresses*/, std::size_t* /*sizes*/,
                                      unsigned char* /*kinds*/) {
  require_host(device);
}
MUSUBI_EXPORT void GOMP_target_update_ext(int device, std::size_t /*count*/, void** /*addresses*/,
                                          std::size_t* /*sizes*/, unsigned short* /*kinds*/,
                                          unsigned /*flags*/, void** dependences) {
  require_host(device);
  wait_for(dependences);
}
MUSUBI_EXPORT void GOMP_target_enter_exit_data(int device, std::size_t /*count*/, void** /*addresses*/,
                                               std::size_t* /*sizes*/, unsigned short* /*kinds*/,
                                               unsigned /*flags*/, void** dependences) {
  require_host(device);
  wait_for(dependences);
}

// Images of a program for devices, which cannot run here: its regions run on the host instead.
MUSUBI_EXPORT void GOMP_offload_register(const void* /*table*/, int /*target*/, const void* /*data*/) {}
MUSUBI_EXPORT void GOMP_offload_register_ver(unsigned /*number*/, const void* /*table*/, int /*target*/,
                                             const void* /*data*/) {}
MUSUBI_EXPORT void GOMP_offload_unregister(const void* /*table*/, int /*target*/, const void* /*data*/) {}
MUSUBI_EXPORT void GOMP_offload_unregister_ver(unsigned /*number*/, const void* /*table*/, int /*target*/,
                                               const void* /*data*/) {}

}  // extern "C"
