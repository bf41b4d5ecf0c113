// The operations of the threads of the random program.
#include <algorithm>
#include <array>
#include <cstring>

#include "simulator/program.h"

namespace musubi::sim {
namespace {

constexpr std::size_t cell_bytes_max = 8;

}  // namespace

// An atomic addition; it sees and changes the shadow inside the block's critical section.
class Program::Addition final : public coherence::Modification, private Witness {
 public:
  Addition(Program& program, Actor& actor, const Cell& cell, std::uint64_t amount)
      : program_(program), actor_(actor), cell_(cell) {
    offset = cell.begin;
    bytes = program.cell_bytes_;
    addition_ = {AtomicOperation::Kind::add, static_cast<std::uint8_t>(bytes), amount};
    if (!is_simulated_build) return;  // the other build does not report operations at the home
    operation = &addition_;
    witness = reinterpret_cast<std::uint64_t>(static_cast<Witness*>(this));
  }

  void apply(std::byte* block) noexcept override {
    std::byte* at = block + cell_.begin;
    const AtomicValue old = modify_in_place(at, addition_);
    took_effect(&old, at);
  }
  void found(AtomicValue) noexcept override { MUSUBI_CHECK(applied, "it has not taken effect"); }
  bool applied = false;

 private:
  void took_effect(const void* old, const void* next) noexcept override {
    const std::size_t size = program_.cell_bytes_;
    const auto* const before = static_cast<const std::byte*>(old);
    if (!program_.shadow_.equals(cell_.offset, {before, size})) {
      program_.complain(actor_, cell_, before, "an atomic operation met");
    }
    program_.shadow_.write_atomically(actor_.number, cell_.offset,
                                      {static_cast<const std::byte*>(next), size});
    MUSUBI_CHECK(!applied, "it has taken effect twice");
    applied = true;
  }

  Program& program_;
  Actor& actor_;
  const Cell& cell_;
  AtomicOperation addition_;
};

Task<> Program::run(Actor& actor) {
  co_await initial_pause(actor);
  for (std::uint32_t phase = 0; phase < configuration_.phases; ++phase) {
    co_await work(actor, phase);
    if (phase + 1 == configuration_.phases) co_await await_outsiders(actor);
    co_await barrier(actor, phase);
  }
  co_await read_everything(actor);
  co_await barrier(actor, configuration_.phases);
}

Task<> Program::run_outsider(Actor& actor) {
  co_await initial_pause(actor);
  for (std::uint32_t phase = 0; phase < configuration_.phases; ++phase) co_await work(actor, phase);
  Outsider& self = outsiders_[actor.number - configuration_.nodes * configuration_.threads];
  shadow_.give(actor.number, self.baton);
  self.ended.set();
}

Task<> Program::work(Actor& actor, std::uint32_t phase) {
  for (std::uint32_t i = 0; i < configuration_.operations; ++i) {
    co_await operate(actor, phase);
    if (configuration_.think_ns == 0 || actor.random.chance(30)) continue;
    const std::uint64_t longest = configuration_.think_ns * (actor.random.chance(2) ? 100 : 1);
    co_await fabric::sim::think(actor.random.below(longest));
  }
}

// By the first thread of each node.
Task<> Program::await_outsiders(Actor& actor) {
  if (actor.number >= configuration_.nodes) co_return;
  for (std::uint32_t i = actor.number; i < outsiders_.size(); i += configuration_.nodes) {
    co_await outsiders_[i].ended;
    shadow_.take(actor.number, outsiders_[i].baton);
  }
}

// Threads never start at one instant.
Task<> Program::initial_pause(Actor& actor) {
  co_await fabric::sim::think(actor.random.below(100 + configuration_.think_ns));
}

Task<> Program::operate(Actor& actor, std::uint32_t phase) {
  if (actor.random.chance(configuration_.prefetches_percent)) co_await prefetch(actor);
  const BlockId block = random_block(actor, phase);
  if (cells_[block.value].empty()) co_return;
  Cell cell = random_cell(actor.random, block);
  if (is_atomic(phase, cell)) co_return co_await add(actor, cell);
  switch (style(phase, block)) {
    case Style::untouched:
    case Style::count:
      break;
    case Style::read_only:
      co_await read(actor, cell);
      break;
    case Style::atomic:
      co_await add(actor, cell);
      break;
    case Style::locked:
      co_await critical_section(actor, phase, cell);
      break;
    case Style::handover:
      co_await hand_over(actor, phase, cell);
      break;
    case Style::scattered:
    case Style::neighbours:
    case Style::single_writer:
      for (unsigned tries = 0; tries < 8 && owner(phase, cell) != actor.number; ++tries) {
        cell = random_cell(actor.random, block);
      }
      if (owner(phase, cell) != actor.number) break;
      if (style(phase, block) == Style::single_writer && actor.random.chance(configuration_.discards_percent))
        co_await discard(actor, phase, block);
      if (actor.random.chance(configuration_.overwrites_percent)) co_await overwrite(actor, phase, block);
      co_await read_or_write(actor, cell);
      break;
  }
}

void Program::complain(const Actor& actor, const Cell& cell, const std::byte* found, const char* what) {
  std::uint64_t present = 0;
  std::uint64_t wanted = 0;
  std::memcpy(&present, found, cell_bytes_);
  std::memcpy(&wanted, shadow_.bytes(cell.offset), cell_bytes_);
  cluster_.violate(
      "%s %lx in block %lu at +%zu on node %u (thread %u), the last write before it was %lx, at %lu ns", what,
      static_cast<unsigned long>(present), static_cast<unsigned long>(cell.block.value), cell.begin,
      actor.node->self().value, actor.number, static_cast<unsigned long>(wanted),
      static_cast<unsigned long>(cluster_.world().now_ns()));
}

Task<> Program::read(Actor& actor, Cell cell) {
  std::array<std::byte, cell_bytes_max> bytes{};
  const std::span<std::byte> into(bytes.data(), cell_bytes_);
  co_await actor.node->read(cell.block, cell.begin, into);
  std::uint64_t value = 0;
  std::memcpy(&value, bytes.data(), bytes.size());
  cluster_.world().fold(value);
  if (!shadow_.read(actor.number, cell.offset, into)) complain(actor, cell, bytes.data(), "read");
}

Task<> Program::write(Actor& actor, Cell cell) {
  std::array<std::byte, cell_bytes_max> bytes{};
  std::uint64_t value = actor.random.next();
  if (actor.random.chance(10)) value = 0;
  if (configuration_.values != 0) value %= configuration_.values;
  std::memcpy(bytes.data(), &value, sizeof value);
  if (actor.random.chance(10))
    std::memcpy(bytes.data(), shadow_.bytes(cell.offset), cell_bytes_);  // no change
  const std::span<const std::byte> from(bytes.data(), cell_bytes_);
  co_await actor.node->write(cell.block, cell.begin, from);
  shadow_.write(actor.number, cell.offset, from);
}

Task<> Program::read_or_write(Actor& actor, Cell cell) {
  const std::uint64_t kind = actor.random.below(4);
  if (kind != 0) co_await read(actor, cell);
  if (kind != 1) co_await write(actor, cell);
}

Task<> Program::add(Actor& actor, Cell cell) {
  Addition addition(*this, actor, cell, actor.random.below(1000));
  co_await actor.node->modify(cell.block, addition);
  if (!addition.applied) cluster_.violate("a modification was not applied");
}

Task<> Program::discard(Actor& actor, std::uint32_t phase, BlockId block) {
  const std::size_t offset = cluster_.space().extent(block).offset;
  for (const std::uint32_t begin : cells_[block.value]) {
    if (is_atomic(phase, Cell{block, begin, offset + begin})) co_return;
  }
  const bool has_become_zeros = co_await actor.node->discard(block);
  if (!has_become_zeros) co_return;
  cluster_.world().reached("block.discarded");
  const std::array<std::byte, cell_bytes_max> zeros{};
  for (const std::uint32_t begin : cells_[block.value])
    shadow_.write(actor.number, offset + begin, std::span(zeros).first(cell_bytes_));
}

Task<> Program::critical_section(Actor& actor, std::uint32_t phase, Cell cell) {
  const std::uint32_t lock = lock_of(phase, cell);
  if (actor.random.chance(10)) {
    const bool taken = co_await actor.node->try_lock(LockId{lock});
    if (!taken) co_return;
    cluster_.world().reached("lock.tried");
    note_entry(actor, lock);
  } else {
    co_await enter(actor, lock);
  }
  co_await accesses_under_lock(actor, phase, lock, cell);
  const bool has_inner = orders_by_locks_alone(configuration_.policy) && lock + 1 < locks_.size() &&
                         actor.random.chance(configuration_.nested_percent);
  if (has_inner) co_return co_await inner_section(actor, phase, lock);
  co_await leave(actor, lock);
}

std::optional<Program::Cell> Program::cell_of_lock(Actor& actor, std::uint32_t phase,
                                                   std::uint32_t lock) const {
  for (unsigned tries = 0; tries < 8; ++tries) {
    const BlockId block = live_[actor.random.below(live_.size())];
    if (style(phase, block) != Style::locked || cells_[block.value].empty()) continue;
    const Cell cell = random_cell(actor.random, block);
    if (lock_of(phase, cell) == lock && !is_atomic(phase, cell)) return cell;
  }
  return std::nullopt;
}

// In the section of `outer`, which it leaves: nested, or overlapping.
Task<> Program::inner_section(Actor& actor, std::uint32_t phase, std::uint32_t outer) {
  const auto inner = static_cast<std::uint32_t>(actor.random.between(outer + 1, locks_.size() - 1));
  co_await enter(actor, inner);
  std::optional<Cell> cell = cell_of_lock(actor, phase, inner);
  if (cell) co_await accesses_under_lock(actor, phase, inner, *cell);
  const bool overlaps = actor.random.chance(50);
  if (overlaps) cluster_.world().reached("locks.overlapping");
  if (!overlaps) cluster_.world().reached("locks.nested");
  co_await leave(actor, overlaps ? outer : inner);
  const std::uint32_t left = overlaps ? inner : outer;
  cell = cell_of_lock(actor, phase, left);
  if (cell) co_await accesses_under_lock(actor, phase, left, *cell);
  co_await leave(actor, left);
}

// From the next barrier on.
void Program::move_pages(Actor& actor) {
  coherence::PageManagers* const managers = actor.node->page_managers();
  if (managers == nullptr || !actor.random.chance(configuration_.moves_percent)) return;
  cluster_.world().reached("pages.moved");
  const BlockId block = live_[actor.random.below(live_.size())];
  managers->change_manager({block, 1}, Rank{static_cast<std::uint32_t>(actor.random.below(cluster_.size()))});
}

void Program::note_entry(const Actor& actor, std::uint32_t lock) {
  if (locks_[lock].holder != no_thread) {
    cluster_.violate("lock %u is held by threads %u and %u", lock, locks_[lock].holder, actor.number);
  }
  locks_[lock].holder = actor.number;
  shadow_.take(actor.number, locks_[lock].baton);
}

Task<> Program::enter(Actor& actor, std::uint32_t lock) {
  co_await actor.node->lock(LockId{lock});
  note_entry(actor, lock);
}

Task<> Program::leave(Actor& actor, std::uint32_t lock) {
  locks_[lock].holder = no_thread;
  shadow_.give(actor.number, locks_[lock].baton);
  co_await actor.node->unlock(LockId{lock});
}

Task<> Program::accesses_under_lock(Actor& actor, std::uint32_t phase, std::uint32_t lock, Cell cell) {
  const std::uint64_t count = actor.random.between(1, 5);
  for (std::uint64_t i = 0; i < count; ++i) {
    const BlockId block = live_[actor.random.below(is_outsider(actor) ? early_blocks_ : live_.size())];
    const bool allowed = is_open(block) || !is_outsider(actor);
    if (allowed && style(phase, block) == Style::locked && !cells_[block.value].empty()) {
      const Cell other = random_cell(actor.random, block);
      if (lock_of(phase, other) == lock && !is_atomic(phase, other)) cell = other;
    }
    co_await read_or_write(actor, cell);
    if (actor.random.chance(20)) co_await fabric::sim::think(configuration_.think_ns);
  }
}

Task<> Program::hand_over(Actor& actor, std::uint32_t phase, Cell cell) {
  Channel& channel = channels_[cell.block.value];
  if (channel.turn != actor.number) co_return;
  if (channel.fresh) co_await take_turn(actor, channel);
  if (actor.random.chance(configuration_.discards_percent)) co_await discard(actor, phase, cell.block);
  if (actor.random.chance(configuration_.overwrites_percent)) co_await overwrite(actor, phase, cell.block);
  // Sometimes it is passed on untouched: acquired writes count as much as own ones.
  const std::uint64_t count = actor.random.below(4);
  for (std::uint64_t i = 0; i < count; ++i) {
    const Cell other = random_cell(actor.random, cell.block);
    if (!is_atomic(phase, other)) co_await read_or_write(actor, other);
  }
  if (!actor.random.chance(20)) co_await pass_turn(actor, channel);
}

Task<> Program::take_turn(Actor& actor, Channel& channel) {
  if (channel.lock == by_clock) {
    co_await actor.node->acquire(channel.number);
    shadow_.take(actor.number, channel.baton);
  } else {
    co_await enter(actor, channel.lock);
    co_await leave(actor, channel.lock);
  }
  channel.fresh = false;
}

Task<> Program::pass_turn(Actor& actor, Channel& channel) {
  const bool clock = actor.random.chance(50);
  const auto lock = static_cast<std::uint32_t>(actor.random.below(locks_.size()));
  if (clock) {
    shadow_.give(actor.number, channel.baton);
    co_await actor.node->release(channel.number);
  } else {
    co_await enter(actor, lock);
    co_await leave(actor, lock);
  }
  channel.lock = clock ? by_clock : lock;
  channel.fresh = true;
  channel.turn = static_cast<std::uint32_t>(actor.random.below(actors_.size()));
}

Task<> Program::barrier(Actor& actor, std::uint32_t episode) {
  Shadow::Baton& baton = barriers_[episode % 2];
  shadow_.give(actor.number, baton);
  sync::Barrier::Payload payload{};
  if (actor.node->self().value == 0) payload.fill(episode + 1);
  move_pages(actor);
  co_await actor.node->barrier(payload);
  if (payload[0] != episode + 1) cluster_.violate("a barrier lost the payload of rank 0");
  shadow_.take(actor.number, baton);
  co_await move_homes(actor, episode);
  change_segments(episode);
}

// Every thread of the job takes part; the first of each node works for it. Some have left the barrier, and
// may have changed the late segments.
Task<> Program::move_homes(Actor& actor, std::uint32_t episode) {
  Random random(configuration_.seed + 0x403e + episode);
  const BlockId block = live_[random.below(early_blocks_)];
  const Rank home{static_cast<std::uint32_t>(random.below(cluster_.size()))};
  if (configuration_.outsiders != 0 || !random.chance(configuration_.moves_percent) ||
      !cluster_.has_fixed_home(block) ||
      cluster_.node(cluster_.home_of(block).value).entry(block).copy.pinned)
    co_return;
  cluster_.world().reached("homes.moved");
  const bool is_first = actor.number < cluster_.size();
  Node& node = *actor.node;
  sync::Barrier::Payload payload{};
  if (is_first && node.self() == home) co_await node.protocol().take_home({block, 1});
  co_await node.barrier(payload);
  if (is_first) co_await node.protocol().set_home({block, 1}, home);
  co_await node.barrier(payload);
  cluster_.set_home(block, home);
}

Task<> Program::read_everything(Actor& actor) {
  // In a large job each thread reads a part, so that the work grows with the number of nodes, not with its
  // square.
  const std::uint64_t stride = std::max<std::uint64_t>(1, actors_.size() * cell_count_ / 20000);
  std::uint64_t turn = actor.number;
  for (const BlockId block : live_) {
    const std::size_t offset = cluster_.space().extent(block).offset;
    for (const std::uint32_t begin : cells_[block.value]) {
      if (turn++ % stride == 0) co_await read(actor, Cell{block, begin, offset + begin});
    }
  }
}

}  // namespace musubi::sim
