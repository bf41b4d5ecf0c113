// PORT block pages: the memory of a rank's blocks, which can be given back in parts. With real pages it is
// two memory files (runtime/start/memory_files.h). The simulator spoils public copies instead, to find late
// readers.
#pragma once

#include <cstddef>

namespace musubi::coherence {

// In both functions [offset, offset + bytes) are whole blocks that are no longer needed. Result: whether the
// system has the memory back. May take a system call of a microsecond per page; waits for no rank.
class BlockPages {
 public:
  // The published region: it may hold anything until it is written again, which may be at once.
  virtual bool give_back(std::size_t offset, std::size_t bytes) noexcept = 0;
  // The private region: it holds zeros from now on. The program's pages there are closed.
  virtual bool throw_out(std::size_t offset, std::size_t bytes) noexcept = 0;

 protected:
  ~BlockPages() = default;
};

}  // namespace musubi::coherence
