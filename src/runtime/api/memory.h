// What front ends do with shared memory, apart from reading and writing it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/result.h"
#include "vm/copy_source.h"

namespace musubi::runtime {

// A range of addresses that becomes shared at share_globals(): static data of the program or of a library.
struct SharedRange {
  std::uintptr_t address;    // page-aligned
  std::size_t bytes;         // whole pages
  std::size_t filled_bytes;  // from the first on: read from a file. The rest was zeros when it was mapped
  bool of_library = false;
};
// Bytes inside the shared ranges that stay private to each rank (copy relocations, .got.plt).
struct PrivateBytes {
  std::uintptr_t address;
  std::size_t bytes;
};

// Where the address space of the job lies: the same on every rank.
struct Layout {
  std::uintptr_t heap_base;
  std::size_t heap_bytes_per_rank;  // rank r allocates in [heap_base + r * heap_bytes_per_rank, +
                                    // heap_bytes_per_rank)
  std::uintptr_t stacks_base;
  std::size_t stack_slot_bytes;
  std::size_t stack_guard_bytes;  // of a slot, its lowest
  std::size_t stack_slots_per_rank;
  // The addresses around the libraries of the start, and those for later libraries. Of both only static data
  // is shared.
  std::uintptr_t libraries_base;
  std::size_t libraries_bytes;
  std::uintptr_t late_libraries_base;
  std::size_t late_libraries_bytes;
};

class Memory {
 public:
  virtual const Layout& layout() const noexcept = 0;
  virtual bool is_shared(std::uintptr_t address) const noexcept = 0;
  // Whether all ranks map one memory, or there is one rank: the processors keep it coherent, and a word there
  // is the same word for all (docs/decisions/one_memory.md).
  virtual bool is_one() const noexcept { return false; }

  // Collective, once, before the program's main: rank 0's bytes of the globals win, everybody else's are
  // dropped.
  virtual void share_globals() = 0;
  // The same while the program runs, for static data of a library that every rank has loaded at the same
  // place within layout().late_libraries_base. Not collective, but once at every rank. With `own_bytes_win`,
  // call it on an attached thread, after all other ranks: this rank's bytes are the job's, once it releases.
  // No thread may use the library yet. One thread per rank.
  virtual void share_library(std::span<const SharedRange> ranges, std::span<const PrivateBytes> private_bytes,
                             bool own_bytes_win) = 0;

  // Lets the program run code in the segment of shared memory that holds `address`, on all ranks, for good.
  // Any thread.
  virtual void allow_code(std::uintptr_t address) = 0;

  // Zeros for [address, address+bytes), as if by plain stores of the calling thread. Memory of this rank's
  // part of the heap that nobody has touched yet stays so.
  virtual void store_zeros(void* address, std::size_t bytes) = 0;

  // The program has no use for [address, address+bytes), whole blocks of this rank's part of the heap: the
  // system may have their memory. No thread uses it until this returns. Result: whether zeros stand there
  // now, for all ranks that synchronise with this thread, and take no memory.
  virtual bool give_back(std::uintptr_t address, std::size_t bytes) noexcept = 0;

  // Makes [address, address+bytes) accessible for a system call that is about to read (or write) it.
  virtual void touch(const void* address, std::size_t bytes, bool for_writing) = 0;

  // In a child made by fork, on its only thread: shared memory becomes a private copy of the parent's, taken
  // block by block at the first touch. The child is no rank: from then on it may call is_shared, layout,
  // touch and Runtime::settings only. Errors: refused by the kernel.
  using CopySource = vm::CopySource;
  virtual Result<void> become_copy(CopySource& source) = 0;

 protected:
  ~Memory() = default;
};

}  // namespace musubi::runtime
