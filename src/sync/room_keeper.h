// Frees memory of a rank that runs short of it (docs/decisions/memory.md): evicts copies that can be
// fetched again; if that is not enough, moves homes to ranks with room. Each rank publishes its free room in
// a word that other ranks read. A rank that needs room reads the words of two ranks, different ones over
// time, and asks the one with more; no rank knows all.
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
    std::uint64_t room;    // bytes that this rank had for homes when it last published
    std::uint64_t answer;  // of the asked rank: bytes that it has taken over, plus one
    std::uint64_t count;   // number of offered blocks
    std::array<BlockId, offered_max> offered;
  };
  // Called when another rank asks: a thread should call serve() soon. Inside progress() of the fabric.
  class Waker {
   public:
    virtual void wake() noexcept = 0;

   protected:
    ~Waker() = default;
  };

  // The words are at `offset` in the control region of each rank; this rank's, zero at start, are at `own`.
  // All arguments outlive the keeper.
  RoomKeeper(fabric::Fabric& fabric, coherence::Room& room, FlagOrder& flags, const MemoryBudget& budget,
             Waker& waker, std::byte* own, std::uint64_t offset);
  // The fabric refers to this object.
  RoomKeeper(const RoomKeeper&) = delete;

  // Frees `bytes`, if possible. Waits for other ranks, and serves them at the same time. The caller holds no
  // gate and is not inside a fault. Result: bytes freed.
  Task<std::size_t> make(std::size_t bytes);
  // Takes homes over from the ranks that have asked.
  Task<> serve();
  bool is_asked() const noexcept { return asks_.load() != 0; }
  // Ends the wait for another rank, now and in future: it may have ended. Any thread.
  void ask_no_more() noexcept { asks_nobody_.store(true); }
  // Tells other ranks how much room there is.
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
  std::atomic<std::uint32_t> asks_{0};    // number of set entries
  std::atomic<bool> asks_nobody_{false};
};

}  // namespace musubi::sync
