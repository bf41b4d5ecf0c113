// Barriers of some threads of the job (pthread_barrier_t): any threads, as many as each call says. The
// address of an object names the barrier; its home, a rank that the name chooses, keeps the threads that
// wait.
//
// A thread releases, and arrives by one call at the home. The last one gets the waiting threads as the
// result: it acquires the signatures of their ranks, so that its own covers the writes of all, and wakes them
// by a message each. Each of them acquires from the last one's rank. So no thread looks at a word again and
// again, and what a rank acquires are the notices that it does not have, as with a lock.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/buffer_pool.h"
#include "base/task.h"
#include "coherence/protocol.h"
#include "fabric/calls.h"
#include "fabric/fabric.h"
#include "hooks/hooks.h"
#include "sync/signature_reader.h"
#include "sync/wait_records.h"

namespace musubi::sync {

// The barriers of a home in which threads wait. Zeroed memory is an empty table.
struct ThreadBarrierTable {
  static constexpr std::size_t places = 128;
  static constexpr std::uint32_t threads_max = 126;  // of a barrier

  struct Barrier {
    std::uint64_t arrived;
    std::array<WaiterLink, threads_max> waiting;
  };

  std::uint64_t lock;
  std::array<std::uint64_t, places> names;  // 0: the place is free
  std::array<Barrier, places> barriers;
};

class ThreadBarriers {
 public:
  static constexpr std::uint32_t threads_max = ThreadBarrierTable::threads_max;

  // A ThreadBarrierTable is at `offset` of each rank's control region. Registers its procedure with the
  // fabric.
  ThreadBarriers(fabric::Fabric& fabric, coherence::Protocol& protocol, WaitRecords& records,
                 std::uint64_t offset, const SignaturePlace& signature);

  // Comes with the message that ends a wait.
  struct News {
    std::uint64_t giver, reserved;
  };
  using Waiting = fabric::Answer<std::array<WaiterLink, threads_max>>;

  // A thread's way through a barrier: arrive(), then leave(). It stays in the thread's frame until then.
  class Passage {
   public:
    // `name` is not 0; `threads` is the same in all calls for a barrier, from 1 to threads_max.
    Passage(ThreadBarriers& barriers, std::uint64_t name, std::uint32_t threads)
        : barriers_(barriers), name_(name), threads_(threads), buffer_(barriers.buffers_) {}
    Passage(const Passage&) = delete;

    // Releases all writes of the rank, then tells the barrier's home. Waits for no other thread, unless
    // threads wait in several hundred barriers of this home.
    Task<> arrive();
    // Waits until the last thread has arrived; then all writes before the barrier are visible here.
    Task<> leave();
    // Of all threads of a barrier for one alone.
    bool is_last() const noexcept { return is_last_; }

   private:
    Waiting& answer() const { return *reinterpret_cast<Waiting*>(buffer_.data()); }
    std::span<const WaiterLink> waiting() const {
      return std::span(answer().result).first(answer().end.bytes / sizeof(WaiterLink));
    }
    std::span<std::byte> news_room() const { return {buffer_.data() + sizeof(Waiting), sizeof(News)}; }
    Task<fabric::Verdict> try_to_arrive();
    Task<> acquire_all();
    Task<> wake_all();

    ThreadBarriers& barriers_;
    const std::uint64_t name_;
    const std::uint32_t threads_;
    bool is_last_ = false;
    std::optional<WaitRecords::Waiter> waiter_;
    BufferPool::Buffer buffer_;  // Waiting, then News
  };

 private:
  // For the procedure.
  struct Place {
    std::uint64_t offset;
    Hooks hooks;
  };
  struct Arrival;
  static fabric::Verdict note_arrival(fabric::Call& call, const void* data) noexcept;
  Rank home_of(std::uint64_t name) const noexcept;
  Task<> release() { return protocol_.release(coherence::Scope::everything(), false); }
  Task<> acquire_from(Rank peer);

  fabric::Fabric& fabric_;
  coherence::Protocol& protocol_;
  WaitRecords& records_;
  const Place place_;
  SignatureReader signatures_;
  BufferPool buffers_;
};

}  // namespace musubi::sync
