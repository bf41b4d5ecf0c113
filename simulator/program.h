// A random program without data races, drawn from the seed: phases between barriers. In each phase each block
// has a style: it says which threads may touch which of the block's cells (simulator/configuration.h). Every
// read is compared with the shadow.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "base/event.h"
#include "base/random.h"
#include "base/task.h"
#include "simulator/cluster.h"
#include "simulator/shadow.h"

namespace musubi::sim {

class Program final : private PromiseBase::Observer {
 public:
  explicit Program(Cluster& cluster);
  Program(const Program&) = delete;

  // Starts all threads; they run while the world runs.
  void start();
  std::uint32_t ended() const { return ended_; }
  bool done() const { return ended_ == actors_.size(); }
  // After the end: the valid copies of all nodes equal the shadow; private parts are untouched.
  void check_copies();

 private:
  struct Actor {
    std::uint32_t number;
    Node* node;
    Random random;
  };
  // A thread that comes to no barrier; a thread of its node waits for its end.
  struct Outsider {
    Event ended;
    Shadow::Baton baton;
  };
  struct Cell {
    BlockId block;
    std::size_t begin;   // in the block
    std::size_t offset;  // in the views
  };
  struct UserLock {
    Shadow::Baton baton;
    std::uint32_t holder;
  };
  // How the right to a block travels in the style `handover`: by the clock, or by a lock that the giver
  // released after his last access and the receiver takes before his first. Other threads may hold that lock
  // in between: the changes that it covers must add up along all such chains.
  struct Channel {
    sync::Channel number;
    Shadow::Baton baton;
    std::uint32_t turn;
    bool fresh;          // the one whose turn it is has not acquired yet
    std::uint32_t lock;  // by_clock, or the lock
  };
  static constexpr std::uint32_t by_clock = ~0u;
  static constexpr std::uint32_t no_thread = ~0u;
  class Addition;

  void task_ended() noexcept override { ++ended_; }
  void prepare_block(BlockId block, Random& random);

  // A choice of the seed, the same for all threads.
  std::uint64_t choice(std::uint64_t a, std::uint64_t b, std::uint64_t c) const;
  bool is_outsider(const Actor& actor) const {
    return actor.number >= configuration_.nodes * configuration_.threads;
  }
  // Blocks that outsiders touch, too: their use does not depend on the phase.
  bool is_open(BlockId block) const;
  Style style(std::uint32_t phase, BlockId block) const;
  std::uint32_t owner(std::uint32_t phase, const Cell& cell) const;
  std::uint32_t lock_of(std::uint32_t phase, const Cell& cell) const;
  // Whether the cell is only touched by atomic additions, whatever the style of its block: counters lie
  // next to data that threads own, or protect by locks.
  bool is_atomic(std::uint32_t phase, const Cell& cell) const;
  Cell random_cell(Random& random, BlockId block) const;
  BlockId random_block(Actor& actor, std::uint32_t phase) const;

  Task<> run(Actor& actor);
  Task<> run_outsider(Actor& actor);
  Task<> work(Actor& actor, std::uint32_t phase);
  Task<> await_outsiders(Actor& actor);
  Task<> initial_pause(Actor& actor);
  Task<> operate(Actor& actor, std::uint32_t phase);
  Task<> read(Actor& actor, Cell cell);
  Task<> write(Actor& actor, Cell cell);
  Task<> read_or_write(Actor& actor, Cell cell);
  Task<> add(Actor& actor, Cell cell);
  // Names blocks that some thread may touch soon, or not.
  Task<> prefetch(Actor& actor);
  // Of a range that begins in a block that is the actor's, without counters.
  Task<> overwrite(Actor& actor, std::uint32_t phase, BlockId first);
  bool may_overwrite(const Actor& actor, std::uint32_t phase, BlockId block) const;
  std::vector<Cell> cells_in(BlockId first, AddressRange range) const;
  // Of a block that is the actor's, but for counters.
  Task<> discard(Actor& actor, std::uint32_t phase, BlockId block);
  Task<> critical_section(Actor& actor, std::uint32_t phase, Cell cell);
  Task<> inner_section(Actor& actor, std::uint32_t phase, std::uint32_t outer);
  std::optional<Cell> cell_of_lock(Actor& actor, std::uint32_t phase, std::uint32_t lock) const;
  void move_pages(Actor& actor);
  Task<> move_homes(Actor& actor, std::uint32_t episode);
  Task<> accesses_under_lock(Actor& actor, std::uint32_t phase, std::uint32_t lock, Cell cell);
  Task<> hand_over(Actor& actor, std::uint32_t phase, Cell cell);
  Task<> take_turn(Actor& actor, Channel& channel);
  Task<> pass_turn(Actor& actor, Channel& channel);
  void note_entry(const Actor& actor, std::uint32_t lock);
  Task<> enter(Actor& actor, std::uint32_t lock);
  Task<> leave(Actor& actor, std::uint32_t lock);
  Task<> barrier(Actor& actor, std::uint32_t episode);
  Task<> read_everything(Actor& actor);

  void prepare_blocks(BlockId first, Random& random);
  void change_segments(std::uint32_t episode);
  void check_copy(Node& node, BlockId block);
  void complain(const Actor& actor, const Cell& cell, const std::byte* found, const char* what);

  Cluster& cluster_;
  const Configuration& configuration_;
  const std::size_t cell_bytes_;
  Shadow shadow_;
  std::vector<Actor> actors_;
  std::deque<Outsider> outsiders_;
  std::vector<UserLock> locks_;
  std::deque<Channel> channels_;                   // one per block
  std::vector<Shadow::Baton> barriers_;            // of odd and even episodes
  std::vector<std::vector<std::uint32_t>> cells_;  // per block: begins of the cells that everybody shares
  std::size_t cell_count_ = 0;
  std::vector<BlockId> live_;  // the blocks of segments that are there, the early ones first
  std::size_t early_blocks_ = 0;
  std::uint32_t episodes_changed_ = 0;
  std::size_t pinned_ = 0;
  std::vector<Task<>> tasks_;
  std::uint32_t ended_ = 0;
};

}  // namespace musubi::sim
