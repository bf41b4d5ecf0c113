// Small messages between ranks for the heap: free of memory that another rank allocated.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/ids.h"

namespace musubi::runtime {

class Messages {
 public:
  // Called on the service thread, one call at a time, in the order of each sender.
  class HeapListener {
   public:
    // `bytes`: how many from `address` on are given back; 0 for a whole allocation.
    virtual void on_free(Rank from, std::uintptr_t address, std::size_t bytes) noexcept = 0;
    // Result: usable bytes of the allocation at `address`, which this rank made.
    virtual std::size_t on_size_query(std::uintptr_t address) noexcept = 0;
    // Whether both may be called with these; `bytes` is 0 for an allocation. Any thread, signal-safe.
    virtual bool is_own(std::uintptr_t address, std::size_t bytes) const noexcept = 0;

   protected:
    ~HeapListener() = default;
  };
  // From now on what arrives is carried out; before, it waits.
  virtual void set_heap_listener(HeapListener* listener) = 0;

  // `bytes`: as on_free has it. Does not wait for the owner to carry it out.
  virtual void send_free(Rank owner, std::uintptr_t address, std::size_t bytes) = 0;
  // Result: usable bytes of the allocation at `address`, which `owner` made. Waits for the answer.
  virtual std::size_t query_size(Rank owner, std::uintptr_t address) = 0;

 protected:
  ~Messages() = default;
};

}  // namespace musubi::runtime
