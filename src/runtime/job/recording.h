// Settings checks=verify and trace: the rank writes down the touches of its program between two
// synchronisations, for the simulator (simulator/recorded.h reads it). The file is that of the trace, with
// the rank's number.
//
// Each block is hidden from the program at each synchronisation, and shown at the first touch. The program
// has written the words of 4 bytes that have changed at the next synchronisation: no rank sends changes to
// homes (Parameters::first_changes_share), so none changes a block that is open for writing elsewhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "base/address_range.h"
#include "base/sparse_array.h"
#include "os/memory.h"
#include "runtime/job/job_context.h"
#include "vm/checked/verifying_vm.h"

namespace musubi::runtime {

inline bool records_accesses(const JobContext& job) {
  return job.settings.checks == "verify" && !job.settings.trace.empty() && !job.one_memory;
}

// By a check, or a range that it names.
enum class Touch : std::uint8_t { read, write, overwrite, store };
constexpr vm::Access access_of(Touch touch) {
  return touch == Touch::read ? vm::Access::read : vm::Access::write;
}

// For ranks with one thread. Signal-safe. Stacks are left out.
class Recording final : private vm::VerifyingVm::Listener {
 public:
  // All outlive it.
  Recording(const JobContext& job, vm::VerifyingVm& vm, const std::byte* system_view);
  ~Recording();
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  // Shows the range's blocks to the program, as far as the protocol has them open. Result: whether it had not
  // touched one of them since it synchronised.
  bool show(AddressRange range, vm::Access wanted) noexcept;
  void note(Touch touch, AddressRange range) noexcept;
  void note_fault(std::uintptr_t address, vm::Access wanted) noexcept;

 private:
  using Synchronisation = vm::VerifyingVm::Synchronisation;

  void on_synchronisation(Synchronisation kind, std::uint64_t number) noexcept override;
  void end_interval() noexcept;
  void note_changes(BlockId block) noexcept;
  void describe(const vm::Segment& segment) noexcept;
  void line(std::string_view word, std::initializer_list<std::uint64_t> numbers) noexcept;
  void flush() noexcept;

  static constexpr std::size_t buffer_bytes = 1 << 20, line_bytes_max = 200;

  const JobContext& job_;
  vm::VerifyingVm& vm_;
  const std::byte* const live_;
  os::FileDescriptor file_;
  SparseArray<std::byte> before_;       // as the blocks were when the program could write them first
  SparseArray<std::uint64_t> written_;  // blocks, since the last synchronisation
  std::size_t written_count_ = 0;
  SparseArray<bool> is_written_;  // by block
  SparseArray<bool> described_;   // by segment
  SparseArray<char> text_;
  std::size_t text_bytes_ = 0;
};

}  // namespace musubi::runtime
