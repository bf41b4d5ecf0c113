// mmap and its relatives as the program sees them: every rank sees a mapping at the same address.
//
// - Anonymous memory comes from the shared heap (mapped_memory.h). A private file mapping that the
//   program may write to does, too: it is filled with the file's bytes.
// - Other file mappings are made by every rank (file_mappings.h).
// - Stacks and mappings of anything but files stay private to this process.
// - A mapping that cannot be shared is refused with a message that names the call.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

#include "heap/heap.h"
#include "heap/heap_messages.h"
#include "heap/mapped_memory.h"
#include "image/memory/file_mappings.h"
#include "image/memory/program_break.h"
#include "runtime/api/runtime.h"

namespace musubi::image {

// One per process. Any thread; not from a signal handler. Results and errno as in section 2 of the manual.
class Mappings {
 public:
  // All arguments outlive this object. Before the job's first barrier.
  Mappings(runtime::Runtime& runtime, heap::Heap& own_heap, heap::MappedMemory& own,
           heap::HeapMessages& messages);

  void set_break_range(const BreakRange& range) noexcept { break_.set_range(range); }

  void* map(const MapRequest& request) noexcept;
  int unmap(void* address, std::size_t bytes) noexcept;
  void* remap(void* address, std::size_t old_bytes, std::size_t new_bytes, int flags, void* wanted) noexcept;
  int protect(void* address, std::size_t bytes, int protection) noexcept;
  int advise(void* address, std::size_t bytes, int advice) noexcept;
  int synchronise(void* address, std::size_t bytes, int flags) noexcept;
  int resident(void* address, std::size_t bytes, unsigned char* result) noexcept;
  int lock(const void* address, std::size_t bytes, unsigned flags) noexcept;
  int unlock(const void* address, std::size_t bytes) noexcept;
  void* attach(int segment, const void* wanted, int flags) noexcept;
  int detach(const void* address) noexcept;
  // Whether all ranks map a file there. Any thread; signal-safe if none is mapped.
  bool is_in_file(const void* address) const noexcept { return files_.covers(address); }
  // sbrk(2).
  void* move_break(std::intptr_t bytes) noexcept { return break_.move(bytes); }
  // brk(2).
  int set_break(void* end) noexcept { return break_.set(end); }

 private:
  // For another rank that maps over a part of one of our mappings.
  void keep(std::uintptr_t address) noexcept { own_.keep(address); }

  // REQUIRES for these: request.bytes are whole pages.
  void* take_pages(const MapRequest& request) noexcept;
  void* map_pages(const MapRequest& request) noexcept;
  void* map_at_will(const MapRequest& request) noexcept;
  void* map_fixed(const MapRequest& request) noexcept;
  void* map_over_shared(const MapRequest& request) noexcept;
  bool is_copied(const MapRequest& request) const noexcept;
  bool fill(void* memory, const MapRequest& request) noexcept;
  bool fill_from_afar(void* memory, const MapRequest& request) noexcept;
  void allow_code(const void* address, int protection) noexcept;
  void drop(std::uintptr_t address, std::size_t bytes) noexcept;
  void unmap_shared(std::uintptr_t address, std::size_t bytes) noexcept;
  void* remap_shared(std::uintptr_t address, std::size_t old_bytes, std::size_t new_bytes,
                     bool may_move) noexcept;
  bool has_other_hosts() const noexcept { return runtime_.hosts().count() > 1; }
  bool is_shared(const void* address) const noexcept {
    return runtime_.memory().is_shared(reinterpret_cast<std::uintptr_t>(address));
  }

  runtime::Runtime& runtime_;
  heap::Heap& heap_;
  heap::MappedMemory& own_;
  heap::HeapMessages& messages_;
  FileMappings files_;
  ProgramBreak break_;
  OwnerCalls<&Mappings::keep> calls_;
};

}  // namespace musubi::image
