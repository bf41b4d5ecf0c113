// The memory of a simulated rank: accesses in the middle of the protocol's work, and places where other tasks
// run.
#include <algorithm>
#include <cstring>

#include "simulator/fabric/sim_executor.h"
#include "simulator/fabric/world.h"
#include "simulator/node.h"

namespace musubi::sim {
namespace {

constexpr std::uint64_t longest_preemption_ns = 3000;
constexpr std::uint64_t longest_stop_ns = 100'000;  // after a check: some releases of other threads long
constexpr std::size_t longest_stretch_bytes = 24;
constexpr std::byte spoiled{0xdb};

}  // namespace

bool Node::SoftPages::give_back(std::size_t offset, std::size_t bytes) noexcept {
  for (std::size_t done = 0; done < bytes;) {
    const std::size_t stretch =
        node_.options_.interruption != 0 ? node_.interrupted_.stretch(bytes - done) : bytes;
    std::fill_n(node_.published_.data() + offset + done, stretch, spoiled);
    done += stretch;
    node_.interrupted_.pass();
  }
  return true;
}

bool Node::SoftPages::throw_out(std::size_t offset, std::size_t bytes) noexcept {
  for (std::size_t done = 0; done < bytes;) {
    const std::size_t stretch =
        node_.options_.interruption != 0 ? node_.interrupted_.stretch(bytes - done) : bytes;
    std::fill_n(node_.private_.data() + offset + done, stretch, std::byte{0});
    done += stretch;
    node_.interrupted_.pass();
  }
  return true;
}

bool Node::is_given_back(BlockId block) const {
  const vm::Extent extent = space_.extent(block);
  const std::byte* bytes = published_.data() + extent.offset;
  return std::all_of(bytes, bytes + extent.bytes, [](std::byte byte) { return byte == spoiled; });
}

void Node::perform(PendingAccess& pending) {
  std::byte* place = private_bytes(pending.block) + pending.begin;
  if (pending.wanted == vm::Access::read) {
    std::memcpy(pending.bytes, place, pending.count);
  } else {
    std::copy_n(pending.bytes, pending.count, place);  // a write of no bytes has none
  }
  pending.done = true;
}

// As code that is checked by the contract of vm::Vm::open_stores.
bool Node::is_store(const PendingAccess& pending) {
  constexpr std::size_t word = sizeof vm::unwritten;
  if (pending.wanted != vm::Access::write || pending.begin % word != 0 || pending.count % word != 0)
    return false;
  for (std::size_t at = 0; at < pending.count; at += word) {
    if (std::memcmp(pending.bytes + at, &vm::unwritten, word) == 0) return false;
  }
  return true;
}

// Some stores are taken for such as need all of the block.
Task<> Node::open_for_stores(const PendingAccess& pending) {
  const bool is_home_only = space_.segment_of(pending.block).home_only;
  if (!is_home_only || !is_store(pending) || vm().allows(pending.block, pending.wanted)) co_return;
  if (vm().is_open_for_stores(pending.block) || fabric_.world().random().chance(10)) co_return;
  const std::uintptr_t address = space_.extent(pending.block).address + pending.begin;
  co_await openings_.open_for_stores({address, pending.count}, true);
  if (vm().is_open_for_stores(pending.block)) fabric_.world().reached("access.stores_alone");
}

Task<> Node::access(PendingAccess pending) {
  const std::uintptr_t address = space_.extent(pending.block).address + pending.begin;
  if (space_.segment_of(pending.block).unprotected) {
    co_await open_for_stores(pending);
    if (!vm().is_open_for_stores(pending.block) || !is_store(pending))
      co_await open(pending.block, {pending.wanted, address});
    pending.is_checked = true;
  }
  if (options_.preemption != 0 && fabric_.world().random().chance(options_.preemption)) {
    pending.next = pending_;
    pending_ = &pending;
    const std::uint64_t longest = pending.is_checked ? longest_stop_ns : longest_preemption_ns;
    co_await fabric::sim::think(fabric_.world().random().below(longest));
    PendingAccess** link = &pending_;
    while (*link != &pending) link = &(*link)->next;
    *link = pending.next;
    if (pending.done) co_return;
  }
  const bool is_open = vm().allows(pending.block, pending.wanted);
  if (!pending.is_checked) co_await open(pending.block, {pending.wanted, address});
  if (pending.is_checked && !is_open) fabric_.world().reached("access.after_closing");
  perform(pending);
}

void Node::preempt(vm::BlockRun run) noexcept {
  for (PendingAccess* pending = pending_; pending != nullptr; pending = pending->next) {
    const bool inside = pending->block.value - run.first.value < run.count;
    const bool may_happen = pending->is_checked || vm().allows(pending->block, pending->wanted);
    if (pending->done || !inside || !may_happen) continue;
    if (fabric_.world().random().chance(30)) continue;
    fabric_.world().reached("access.inside_protection_change");
    perform(*pending);
  }
  interrupted_.pass();
}

void Node::Interrupted::pass() noexcept {
  node_.fabric_.others_may_act();
}

void Node::Interrupted::touch() noexcept {
  node_.fabric_.touch();
}

std::size_t Node::Interrupted::stretch(std::size_t bytes) noexcept {
  return std::min<std::size_t>(bytes, node_.fabric_.world().random().between(1, longest_stretch_bytes));
}

void Node::Interrupted::spoil(std::byte* guesses, std::size_t bytes) noexcept {
  Random& random = node_.fabric_.world().random();
  if (node_.options_.wrong_habits == 0 || !random.chance(node_.options_.wrong_habits)) return;
  for (std::size_t i = 0; i < bytes; ++i) guesses[i] = static_cast<std::byte>(random.below(256));
}

void Node::PreemptedVm::open_read(vm::BlockRun run) noexcept {
  table_.open_read(run);
  node_.preempt(run);
}
void Node::PreemptedVm::open_write(vm::BlockRun run) noexcept {
  table_.open_write(run);
  node_.preempt(run);
}
void Node::PreemptedVm::upgrade(vm::BlockRun run) noexcept {
  table_.upgrade(run);
  node_.preempt(run);
}
void Node::PreemptedVm::downgrade(vm::BlockRun run) noexcept {
  node_.preempt(run);
  table_.downgrade(run);
  node_.interrupted_.pass();
}
void Node::PreemptedVm::close(vm::BlockRun run) noexcept {
  node_.preempt(run);
  table_.close(run);
  node_.interrupted_.pass();
}
void Node::PreemptedVm::open_stores(vm::BlockRun run) noexcept {
  table_.open_stores(run);
  node_.preempt(run);
}
void Node::PreemptedVm::leave_open(vm::BlockRun run) noexcept {
  table_.leave_open(run);
  node_.preempt(run);
}

}  // namespace musubi::sim
