// Small messages of the heap between ranks: frees of memory that another rank allocated.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/ids.h"

namespace musubi::runtime {

class Messages {
 public:
  // Called on the service thread, one call at a time, in each sender's order.
  class HeapListener {
   public:
    // `bytes`: freed from `address` on; 0 for a whole allocation.
    virtual void on_free(Rank from, std::uintptr_t address, std::size_t bytes) noexcept = 0;
    // Result: usable bytes of the allocation at `address`, which this rank made.
    virtual std::size_t on_size_query(std::uintptr_t address) noexcept = 0;
    // Whether the two functions above accept these arguments; `bytes` is 0 for an allocation. Any thread,
    // signal-safe.
    virtual bool is_own(std::uintptr_t address, std::size_t bytes) const noexcept = 0;

   protected:
    ~HeapListener() = default;
  };
  // From now on arriving messages are executed; until then they wait.
  virtual void set_heap_listener(HeapListener* listener) = 0;

  // `bytes`: see on_free. Does not wait for the owner.
  virtual void send_free(Rank owner, std::uintptr_t address, std::size_t bytes) = 0;
  // Result: usable bytes of the allocation at `address`, which `owner` made. Waits for the reply.
  virtual std::size_t query_size(Rank owner, std::uintptr_t address) = 0;

 protected:
  ~Messages() = default;
};

}  // namespace musubi::runtime
