// The state of the C interface in this process: its job, between musubi_init and musubi_finalize. C functions
// have no argument that could carry it, hence the one global pointer.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>

#include "c_api/added_memory.h"
#include "c_api/global_space.h"
#include "heap/heap.h"
#include "heap/heap_messages.h"
#include "runtime/api/runtime.h"

namespace musubi::c_api {

// The holder of each lock, as far as this rank knows: to detect misuse, not to exclude.
class LockHolders {
 public:
  bool is_mine(std::uint32_t lock) const noexcept { return threads_[lock].load(relaxed) == this_thread(); }
  void take(std::uint32_t lock) noexcept { threads_[lock].store(this_thread(), relaxed); }
  void give_back(std::uint32_t lock) noexcept { threads_[lock].store(0, relaxed); }

 private:
  static constexpr auto relaxed = std::memory_order_relaxed;  // a thread looks only for its own mark
  static std::uint32_t this_thread() noexcept;

  std::array<std::atomic<std::uint32_t>, runtime::Synchronization::lock_count> threads_{};
};

// Allocates shared memory for another rank: a request of 8 bytes, the size; a reply of 8 bytes, the address
// or 0.
inline constexpr runtime::ProcedureId allocation_procedure{0};
class Allocation final : public runtime::Procedure {
 public:
  runtime::Answer run(Rank caller, std::span<const std::byte> request,
                      std::span<std::byte> reply) noexcept override;
};

struct Job {
  explicit Job(std::unique_ptr<runtime::Runtime> started);

  std::unique_ptr<runtime::Runtime> owner;
  runtime::Runtime& runtime;
  heap::MappedMemory mapped_memory;
  heap::HeapMessages messages;
  LockHolders holders;
  AddedMemory added;
  Allocation allocate;
  PageHome page_home;

  // Whether all of the range, a byte or more, is shared memory of the program.
  bool is_shared(const void* memory, std::size_t bytes) {
    if (bytes - 1 > UINTPTR_MAX - reinterpret_cast<std::uintptr_t>(memory)) return false;
    const auto* const last = static_cast<const char*>(memory) + (bytes - 1);
    return (heap::process_heap.is_shared(memory) && heap::process_heap.is_shared(last)) ||
           added.contains(memory, bytes);
  }
  // Before functions of musubi.h, which have no checks, use memory of the program.
  void open(const void* memory, std::size_t bytes, bool for_writing) {
    if (added.has_unprotected() && added.contains(memory, bytes))
      runtime.memory().touch(memory, bytes, for_writing);
  }
};

// The job of this process; null outside of musubi_init and musubi_finalize. Any thread.
Job* current_job() noexcept;

// Prints a line with the rank, the call and the text, if the user wants refusals explained.
void explain_call(const char* call, const char* text);

// Joins the job and shares the heap. Errors: already joined; the errors of the parts.
Result<void> join();
// Releases the job without destroying it: late accesses of the program still find their memory.
void let_go() noexcept;

}  // namespace musubi::c_api
