// PORT public pages: the memory behind the region of public copies, to be given back in parts. Where there
// are real pages it is a memory file (runtime/rank_memory.h); the simulator spoils the bytes, so that who
// still reads them is found.
#pragma once

#include <cstddef>

namespace musubi::coherence {

class PublicPages {
 public:
  // The bytes [offset, offset + bytes) of the published region, whole blocks, are needed no more: anything
  // may stand there from now on, until they are written again, which may be at once. Result: whether the
  // system has them back. May take a system call of a microsecond per page; does not wait for anybody.
  virtual bool give_back(std::size_t offset, std::size_t bytes) noexcept = 0;

 protected:
  ~PublicPages() = default;
};

}  // namespace musubi::coherence
