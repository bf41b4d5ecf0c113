// PORT public pages: the memory behind the region of public copies, to be given back in parts. With real
// pages it is a memory file (runtime/rank_memory.h). The simulator spoils the bytes instead, to find late
// readers.
#pragma once

#include <cstddef>

namespace musubi::coherence {

class PublicPages {
 public:
  // The bytes [offset, offset + bytes) of the published region, whole blocks, are no longer needed. They may
  // hold anything until they are written again, which may be at once. Result: whether the system has the
  // memory back. May take a system call of a microsecond per page; waits for nobody.
  virtual bool give_back(std::size_t offset, std::size_t bytes) noexcept = 0;

 protected:
  ~PublicPages() = default;
};

}  // namespace musubi::coherence
