// Operations of front ends on shared memory, apart from reading and writing it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/result.h"
#include "vm/vm.h"

namespace musubi::runtime {

// A range that becomes shared at share_globals(): static data of the program or of a library.
struct SharedRange {
  std::uintptr_t address;    // page-aligned
  std::size_t bytes;         // whole pages
  std::size_t filled_bytes;  // the first bytes, read from a file; the rest was zero when it was mapped
  bool of_library = false;
};
// Bytes inside the shared ranges that stay private to each rank (copy relocations, .got.plt).
struct PrivateBytes {
  std::uintptr_t address;
  std::size_t bytes;
};

// Addresses of the job's segments, the same on every rank.
struct Layout {
  std::uintptr_t heap_base;
  // rank r allocates in [heap_base + r * heap_bytes_per_rank, + heap_bytes_per_rank)
  std::size_t heap_bytes_per_rank;
  std::uintptr_t stacks_base;
  std::size_t stack_slot_bytes;
  std::size_t stack_guard_bytes;  // the lowest bytes of a slot
  std::size_t stack_slots_per_rank;
  // The addresses around the libraries loaded at the start, and around later ones. Only their static data is
  // shared.
  std::uintptr_t libraries_base;
  std::size_t libraries_bytes;
  std::uintptr_t late_libraries_base;
  std::size_t late_libraries_bytes;
};

class Memory {
 public:
  virtual const Layout& layout() const noexcept = 0;
  virtual bool is_shared(std::uintptr_t address) const noexcept = 0;
  // Whether all ranks map one memory, or there is one rank: the processors keep it coherent, and an address
  // refers to the same word on all ranks (docs/decisions/one_host.md).
  virtual bool is_one() const noexcept { return false; }

  // Collective, once, before the program's main: all ranks get rank 0's bytes of the globals.
  virtual void share_globals() = 0;
  // The same while the program runs, for static data of a library that every rank has loaded at the same
  // address within layout().late_libraries_base. Not collective, but once on every rank. With
  // `own_bytes_win`, call it on an attached thread, after all other ranks: the job gets this rank's bytes at
  // its next release. No thread may use the library yet. One thread per rank.
  virtual void share_library(std::span<const SharedRange> ranges, std::span<const PrivateBytes> private_bytes,
                             bool own_bytes_win) = 0;

  // Permits the program to run code in the segment of shared memory that contains `address`, on all ranks and
  // for the rest of the job. Any thread.
  virtual void allow_code(std::uintptr_t address) = 0;

  // Stores zeros to [address, address+bytes), as if by plain stores of the calling thread. Untouched memory
  // of this rank's part of the heap stays untouched.
  virtual void store_zeros(void* address, std::size_t bytes) = 0;

  // The program no longer needs [address, address+bytes), whole blocks of this rank's part of the heap: the
  // system may have their memory. No thread may use it until this returns. Result: whether the range now
  // reads as zeros and takes no memory, for all ranks that synchronise with this thread.
  virtual bool give_back(std::uintptr_t address, std::size_t bytes) noexcept = 0;

  // Makes [address, address+bytes) accessible for a system call that is about to read (or write) it.
  virtual void touch(const void* address, std::size_t bytes, bool for_writing) = 0;

  // In a child made by fork, on its only thread: shared memory becomes a private copy of the parent's,
  // fetched block by block at the first access. The child is no rank: from then on it may call only
  // is_shared, layout, touch and Runtime::settings. Errors: refused by the kernel.
  using CopySource = vm::CopySource;
  virtual Result<void> become_copy(CopySource& source) = 0;

 protected:
  ~Memory() = default;
};

}  // namespace musubi::runtime
