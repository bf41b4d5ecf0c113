// Memory of a rank that gets short (docs/decisions/memory.md): copies that can be fetched again are
// thrown out; where that is not enough, homes move to ranks with room. Each rank publishes how much room it
// has in a word that the others read. One that needs room looks at two ranks, not always the same ones, and
// asks that with more; no rank knows of all.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/event.h"
#include "base/ids.h"
#include "base/task.h"
#include "coherence/room.h"
#include "fabric/fabric.h"
#include "sync/flag_order.h"

namespace musubi::sync {

// PORT memory budget: the memory for blocks at this rank. Any thread.
class MemoryBudget {
 public:
  virtual std::size_t held() const noexcept = 0;
  virtual std::size_t allowed() const noexcept = 0;

 protected:
  ~MemoryBudget() = default;
};

// One object per rank.
class RoomKeeper final : private fabric::Listener {
 public:
  static constexpr std::size_t offered_max = 64;
  // In the control region of each rank.
  struct Words {
    std::uint64_t room;    // bytes that this rank has for homes, as it last knew
    std::uint64_t answer;  // of the rank that was asked: bytes that it has taken, and one
    std::uint64_t count;   // blocks that are offered
    std::array<BlockId, offered_max> offered;
  };
  // Told that another rank asks: some thread should call serve() soon. Inside progress() of the fabric.
  class Waker {
   public:
    virtual void wake() noexcept = 0;

   protected:
    ~Waker() = default;
  };

  // The words lie at `offset` in the control region of each rank, and the own ones, zero at start, at `own`.
  // All outlive the keeper.
  RoomKeeper(fabric::Fabric& fabric, coherence::Room& room, FlagOrder& flags, const MemoryBudget& budget,
             Waker& waker, std::byte* own, std::uint64_t offset);
  // The listener belongs to the fabric from now on.
  RoomKeeper(const RoomKeeper&) = delete;

  // Frees `bytes`, if that can be done. Waits for other ranks, and serves them meanwhile. No caller holds a
  // gate; not inside a fault. Result: how many are free now.
  Task<std::size_t> make(std::size_t bytes);
  // Takes homes over from the ranks that have asked.
  Task<> serve();
  bool is_asked() const noexcept { return asks_.load() != 0; }
  // Ends the wait for another rank, now and from now on: it may have ended. Any thread.
  void ask_no_more() noexcept { asks_nobody_.store(true); }
  // Tells the others how much room there is.
  void publish() noexcept;

 private:
  const char* on_message(Rank from, std::span<const std::byte> body) noexcept override;
  Words& own() const { return *reinterpret_cast<Words*>(own_); }
  std::atomic_ref<std::uint64_t> word(std::uint64_t& word) const {
    return std::atomic_ref<std::uint64_t>(word);
  }
  std::size_t free_bytes() const noexcept;
  std::size_t missing_for(std::size_t bytes) const noexcept;
  Task<> serve_one(Rank from);
  Task<> make_room_for(std::size_t bytes);
  Task<> release_in_order();
  Task<std::size_t> sift_homes(std::size_t bytes);
  Task<std::size_t> move_homes(std::size_t bytes);
  Task<std::size_t> ask(Rank taker);
  Task<std::optional<Rank>> find_taker();
  Task<std::uint64_t> room_at(Rank rank);
  Rank draw_rank();
  Rank rank_after(std::uint32_t step) const;

  fabric::Fabric& fabric_;
  coherence::Room& room_;
  FlagOrder& flags_;
  const MemoryBudget& budget_;
  Waker& waker_;
  std::byte* const own_;
  const std::uint64_t offset_;
  Gate making_;
  Gate serving_;
  std::uint64_t drawn_;
  std::vector<std::atomic<bool>> asked_;  // by rank
  std::atomic<std::uint32_t> asks_{0};    // of them
  std::atomic<bool> asks_nobody_{false};
};

}  // namespace musubi::sync
