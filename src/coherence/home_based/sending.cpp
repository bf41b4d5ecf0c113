// FixedHome: the changes of this rank go to the homes of their blocks.
#include <algorithm>
#include <array>
#include <new>
#include <optional>
#include <utility>

#include "base/check.h"
#include "coherence/home_based/fixed_home.h"
#include "coherence/rules/permits.h"
#include "coherence/store/unwritten.h"
#include "fabric/transfer.h"

namespace musubi::coherence {
namespace {

// So many bytes of blocks are looked at for one packet: few packets are sent one after the other.
constexpr std::size_t bytes_of_packet = std::size_t{64} << 10;

}  // namespace

// A packet, and the blocks that it ends, whose gates this task holds.
struct FixedHome::Batch {
  Packet packet;
  std::array<BlockId, Packet::blocks_max> blocks;
  std::array<std::optional<Gate::Pass>, Packet::blocks_max> passes;
  std::size_t ended = 0;
};
const std::size_t FixedHome::batch_bytes = sizeof(Batch);

Task<> FixedHome::release(Scope, bool quiescent) {
  auto pass = co_await release_gate_.enter();
  if (quiescent) at_barrier_.store(true);
  const Sending sending = quiescent ? Sending::quiescent_release : Sending::release;
  TaskGroup group(parameters_.release_window);
  co_await send_all(group, dirty_.take(), sending);
  for (const BlockId id : pinned_) co_await group.admit(send_block(id, sending));
  co_await group.drain();
}

// Sends early what the next release would send; that finds the blocks unchanged.
Task<> FixedHome::written(vm::BlockRun run) {
  TaskGroup group(parameters_.release_window);
  std::array<BlockId, Packet::blocks_max> blocks;
  for (std::uint64_t sent = 0; sent < run.count;) {
    const std::size_t number = std::min<std::uint64_t>(blocks.size(), run.count - sent);
    for (std::size_t i = 0; i < number; ++i) blocks[i] = BlockId{run.first.value + sent + i};
    co_await send_all(group, std::span(blocks).first(number), Sending::early);
    co_await group.drain();
    sent += number;
  }
}

// Sorts `blocks`, which stay until the group has ended.
Task<> FixedHome::send_all(TaskGroup& group, std::span<BlockId> blocks, Sending sending) {
  const auto place = [this](BlockId id) { return std::pair(home_of(id).value, id.value); };
  if (takes_packets()) std::ranges::sort(blocks, {}, place);
  while (!blocks.empty()) {
    const std::size_t together = takes_packets() ? number_for_packet(blocks) : 0;
    if (together == 0) {
      co_await group.admit(send_block(blocks.front(), sending));
    } else {
      co_await group.admit(send_in_packets(blocks.first(together), sending));
    }
    blocks = blocks.subspan(std::max<std::size_t>(1, together));
  }
}

// How many of the first blocks go into packets together. 0: the first one is at home.
std::size_t FixedHome::number_for_packet(std::span<const BlockId> blocks) const {
  const Rank home = home_of(blocks.front());
  if (home == fabric_.self()) return 0;
  std::size_t number = 0, bytes = 0;
  while (number < std::min(blocks.size(), Packet::blocks_max) && bytes < bytes_of_packet &&
         home_of(blocks[number]) == home) {
    bytes += space_.segment_of(blocks[number++]).block_bytes;
  }
  return number;
}

// All have one home. The task waits for a gate only while it holds no other.
Task<> FixedHome::send_in_packets(std::span<const BlockId> blocks, Sending sending) {
  BufferPool::Buffer memory(packets_);
  BufferPool::Buffer snapshot(store_.scratch());
  auto* const batch = new (memory.data()) Batch;
  for (const BlockId id : blocks) {
    std::optional<Gate::Pass> pass = gate(id).try_enter();
    if (!pass) {
      co_await send_batch(*batch, sending);
      pass.emplace(co_await gate(id).enter());
    }
    Block b = block(id);
    const bool stores_only = b.entry.copy.state == State::stores_only;
    if (!begin_sending(b, sending)) continue;
    bool changed = true;
    if (stores_only) {
      WrittenWords words(store_, b);
      changed = !words.next().empty();
      while (!batch->packet.add(words, b)) co_await send_batch(*batch, sending);
    } else if (b.entry.published.whole) {
      make_whole_public(b);
      while (!batch->packet.add_whole(b)) co_await send_batch(*batch, sending);
    } else {
      Changes changes(store_, b, snapshot.data(), {});
      count(Counter::comparisons);
      changed = !changes.next().empty();
      while (!batch->packet.add(changes, b)) co_await send_batch(*batch, sending);
    }
    if (!changed) {
      end_sending(b, false, sending);
      continue;
    }
    while (!batch->packet.end(b)) co_await send_batch(*batch, sending);
    batch->blocks[batch->ended] = id;
    batch->passes[batch->ended++].emplace(std::move(*pass));
  }
  co_await send_batch(*batch, sending);
  batch->~Batch();
}

Task<> FixedHome::send_batch(Batch& batch, Sending sending) {
  if (batch.packet.empty()) co_return;
  const Rank home = batch.packet.home();
  co_await fabric::transfer(fabric_, home, batch.packet.steps());
  count(Counter::packets);
  for (std::size_t i = 0; i < batch.ended; ++i) {
    Block b = block(batch.blocks[i]);
    note_published(b, batch.packet.published(i));
    end_sending(b, true, sending);
    batch.passes[i].reset();
  }
  batch.ended = 0;
  batch.packet.clear();
}

Task<> FixedHome::send_block(BlockId id, Sending sending) {
  auto pass = co_await gate(id).enter();
  Block b = block(id);
  if (is_at_home(b)) {
    if (sending == Sending::early) co_return;
    b.entry.queues.releases = false;
    co_return co_await release_at_home(b, has_late_stores(id, sending));
  }
  if (!begin_sending(b, sending)) co_return;
  const bool changed = co_await put_changes(b);
  end_sending(b, changed, sending);
}

bool FixedHome::has_late_stores(BlockId id, Sending sending) const {
  return rules::has_late_stores(space_.segment_of(id), sending == Sending::quiescent_release);
}

// Away from its home a block stays open until it was found unchanged some times. Result: whether it may have
// changes.
bool FixedHome::begin_sending(Block& b, Sending sending) {
  MUSUBI_CHECK(!is_at_home(b) && !b.entry.copy.pinned);
  Entry& e = b.entry;
  if (sending == Sending::early) return rules::is_dirty(e);
  e.queues.releases = false;
  if (!rules::is_dirty(e)) return false;
  const bool late_stores = has_late_stores(b.id, sending);
  const bool is_idle = e.habits.idle_releases >= parameters_.downgrade_after_releases;
  const bool closes = is_idle && rules::may_downgrade(late_stores, parameters_);
  if (e.copy.state == State::writable && closes) {
    vm_.downgrade({b.id, 1});
    count(Counter::downgrades);
    e.copy.state = State::readable_dirty;
  } else if (e.copy.state == State::stores_only && closes) {
    vm_.close({b.id, 1});
    e.copy.state = State::invalid_dirty;
  }
  // Before other tasks get in: they see it dirty only if it is so again.
  e.copy.state = rules::when_released(e.copy.state, late_stores, parameters_);
  return true;
}

void FixedHome::end_sending(Block& b, bool changed, Sending sending) {
  if (changed) count(Counter::releases);
  if (sending == Sending::early) return;
  Entry& e = b.entry;
  e.habits.idle_releases =
      changed ? std::uint16_t{0} : static_cast<std::uint16_t>(e.habits.idle_releases + 1);
  if (rules::is_dirty(e)) list(b);
}

// The home knows only that its program may have written. The block is closed for writing, so the next write
// faults and leads to a publication. With late stores it stays open, and each release publishes it.
Task<> FixedHome::release_at_home(Block& b, bool late_stores) {
  MUSUBI_CHECK(is_at_home(b));
  const bool is_writable = !b.entry.copy.pinned && b.entry.copy.state == State::writable;
  const bool stays = !rules::may_downgrade(late_stores, parameters_);
  if (is_writable && !stays) {
    vm_.downgrade({b.id, 1});
    b.entry.copy.state = State::readable_clean;
  }
  Puts none;
  co_await publish(b, none);
  if (is_writable && stays) list(b);
}

// The bytes that the release sends become the twin.
void FixedHome::make_whole_public(Block& b) {
  MUSUBI_CHECK(!is_at_home(b) && !store_.has_private_parts(b));
  store_.copy_to_public(b);
  count(Counter::twins);
  b.entry.published.whole = false;
}

Task<> FixedHome::put_whole(Block& b) {
  make_whole_public(b);
  Puts puts;
  puts.add(fabric::put(private_region, b.extent.offset, b.published, b.extent.bytes));
  co_await publish(b, puts);
}

// Result: whether there were any. The twin gets the bytes put.
Task<bool> FixedHome::put_changes(Block& b, Changes::Piece value) {
  if (b.entry.published.whole) {
    co_await put_whole(b);
    co_return true;
  }
  BufferPool::Buffer snapshot(store_.scratch());
  Changes changes(store_, b, snapshot.data(), value);
  count(Counter::comparisons);
  Puts puts;
  while (!collect(changes, b, puts)) {
    co_await fabric::transfer(fabric_, b.initial_home, puts.steps());
    puts.clear();
  }
  if (puts.empty()) co_return false;
  co_await publish(b, puts);
  co_return true;
}

}  // namespace musubi::coherence
