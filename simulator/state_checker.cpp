#include "simulator/state_checker.h"

#include <algorithm>
#include <cstring>

#include "coherence/rules/home_words.h"
#include "coherence/rules/invariants.h"
#include "remote_lock/owner_word.h"
#include "simulator/signature_size.h"

namespace musubi::sim {

using coherence::BlockWords;
using coherence::Entry;
using coherence::State;
using coherence::rules::HomeWord;
using remote_lock::Ownership;
using remote_lock::OwnerWord;
using remote_lock::TailWord;

namespace {

unsigned long number(BlockId block) {
  return static_cast<unsigned long>(block.value);
}
unsigned long number(LogicalTime time) {
  return static_cast<unsigned long>(time.value);
}

}  // namespace

StateChecker::StateChecker(Cluster& cluster, std::uint32_t check_every)
    : cluster_(cluster),
      world_(cluster.world()),
      check_every_(std::max(1u, check_every)),
      checks_blocks_(!is_for_comparison(cluster.configuration().policy) &&
                     !orders_by_locks_alone(cluster.configuration().policy)),
      homes_(cluster.space().blocks_max()),
      acquired_(cluster.size()),
      depth_(cluster.size()) {}

void StateChecker::after_event() noexcept {
  if (!checks_blocks_ || ++events_ % check_every_ != 0 || cluster_.violated()) return;
  ++checks_;
  check_block(BlockId{checks_ % cluster_.space().blocks()});
  check_node(static_cast<std::uint32_t>(checks_ % cluster_.size()));
}

StateChecker::Chains StateChecker::follow(BlockId block) {
  const Rank initial = cluster_.space().initial_home(block);
  const auto word_at = [&](std::uint32_t rank) {
    const BlockWords& words = cluster_.node(rank).words(block);
    OwnerWord word;
    std::memcpy(&word.raw, &words.owner, sizeof word.raw);
    return word.resolved(Rank{rank}, initial);
  };
  Chains chains;
  const std::uint32_t count = cluster_.size();
  std::fill(depth_.begin(), depth_.end(), 0u);
  for (std::uint32_t start = 0; start < count; ++start) {
    std::uint32_t steps = 0;
    std::uint32_t at = start;
    while (depth_[at] == 0) {
      const OwnerWord word = word_at(at);
      if (word.tag() != Ownership::link) {
        depth_[at] = 1;
        ++chains.ends;
        if (word.tag() == Ownership::unlocked) {
          ++chains.free_ends;
          chains.home = at;
        }
        break;
      }
      at = word.target().value;
      if (++steps > count || at >= count) {
        chains.cyclic = true;
        return chains;
      }
    }
    std::uint32_t depth = depth_[at] + steps;
    chains.longest = std::max(chains.longest, depth - 1);
    for (at = start; depth_[at] == 0; at = word_at(at).target().value) depth_[at] = depth--;
  }
  return chains;
}

// A block of the policy home_based: no copy may be valid longer than its home knows, nor together with a
// version that the home has released because no rank held the previous one.
void StateChecker::check_block_of_fixed_home(BlockId block) {
  const Rank home = cluster_.home_of(block);
  const HomeWord word{cluster_.node(home.value).words(block).read_ts};
  for (std::uint32_t rank = 0; rank < cluster_.size(); ++rank) {
    const Entry& entry = cluster_.node(rank).entry(block);
    if (Rank{rank} == home || entry.copy.pinned || entry.copy.state < State::readable_clean) continue;
    const bool is_known = word.is_leased() ? entry.held.read_ts <= word.time()
                                           : entry.held.read_ts < later(word.time(), LogicalTime{1});
    if (is_known) continue;
    return cluster_.violate("block %lu: node %u holds a copy until %lu, its home %u %s until %lu",
                            number(block), rank, number(entry.held.read_ts), home.value,
                            word.is_leased() ? "has leased it" : "has a version that nobody may hold",
                            number(word.time()));
  }
}

void StateChecker::check_block(BlockId block) {
  if (cluster_.has_fixed_home(block)) return check_block_of_fixed_home(block);
  const Chains chains = follow(block);
  if (chains.cyclic) return cluster_.violate("the owner words of block %lu form a cycle", number(block));
  if (chains.ends == 0) return cluster_.violate("block %lu has no home", number(block));
  if (chains.free_ends > 1)
    return cluster_.violate("block %lu has %u homes", number(block), chains.free_ends);
  if (chains.longest > 2) world_.reached("owner_chain.longer_than_2");
  if (chains.ends > 2) world_.reached("owner_word.several_wait");
  // A rank may hold the block's lock, or wait for it: the rest is checked when none does.
  if (chains.ends != 1 || chains.free_ends != 1) return;
  const Rank initial = cluster_.space().initial_home(block);
  const TailWord tail{cluster_.node(initial.value).words(block).tail};
  if (tail.rank(initial).value != chains.home) {
    return cluster_.violate("block %lu: node %u was the last to queue up, node %u is the home", number(block),
                            tail.rank(initial).value, chains.home);
  }
  const BlockWords& home = cluster_.node(chains.home).words(block);
  const std::uint64_t read_ts = home.read_ts;
  const std::uint64_t write_ts = home.write_ts;
  if (read_ts < write_ts) {
    return cluster_.violate("block %lu: read_ts %lu < write_ts %lu at its home %u", number(block), read_ts,
                            write_ts, chains.home);
  }
  Home& last = homes_[block.value];
  if (write_ts != 0 && last.write_ts == write_ts && last.rank != chains.home)
    world_.reached("home.moved_by_a_reader");
  last = {chains.home, write_ts};
  for (std::uint32_t rank = 0; rank < cluster_.size(); ++rank) check_copy(block, rank, chains.home);
}

void StateChecker::check_copy(BlockId block, std::uint32_t rank, std::uint32_t home) {
  Node& node = cluster_.node(rank);
  const BlockWords& home_words = cluster_.node(home).words(block);
  const std::uint64_t write_ts = home_words.write_ts;
  const std::uint64_t read_ts = home_words.read_ts;
  const std::uint64_t public_ts = node.words(block).public_ts;
  const Entry& entry = node.entry(block);
  if (public_ts > write_ts || entry.known.newest.write_ts.value > write_ts ||
      entry.held.write_ts.value > write_ts) {
    return cluster_.violate(
        "block %lu at node %u: a version newer than that of its home %u (%lu %lu %lu > %lu)", number(block),
        rank, home, public_ts, number(entry.known.newest.write_ts), number(entry.held.write_ts), write_ts);
  }
  if (public_ts != 0 && node.is_given_back(block)) {
    return cluster_.violate("block %lu: the public copy of node %u is called version %lu, and was given back",
                            number(block), rank, public_ts);
  }
  const bool valid = entry.copy.state >= State::readable_clean;
  if (entry.copy.state == State::invalid_dirty) world_.reached("state.invalid_dirty");
  if (entry.copy.state == State::readable_dirty) world_.reached("state.readable_dirty");
  if (!valid || entry.copy.pinned) return;
  if (entry.held.write_ts.value < write_ts && entry.held.read_ts.value >= write_ts) {
    return cluster_.violate("block %lu: node %u may hold version %lu until %lu, but version %lu exists",
                            number(block), rank, number(entry.held.write_ts), number(entry.held.read_ts),
                            write_ts);
  }
  if (entry.held.write_ts.value == write_ts && entry.held.read_ts.value > read_ts) {
    return cluster_.violate("block %lu: node %u holds version %lu until %lu, its home %u knows of %lu only",
                            number(block), rank, write_ts, number(entry.held.read_ts), home, read_ts);
  }
}

// No task is at work: each rank that has taken bytes of a sleeping block has marked it by now.
void StateChecker::check_sleep(BlockId block, const Node& home) {
  const BlockWords& words = home.words(block);
  if (words.rests()) {
    world_.reached("home.at_rest");
    const State state = home.entry(block).copy.state;
    if (state != State::invalid_clean || words.sleeps())
      cluster_.violate("block %lu rests at its home %u in state %u", number(block), home.self().value,
                       static_cast<unsigned>(state));
  }
  if (!words.sleeps()) return;
  world_.reached("block.asleep");
  const coherence::VisitLayout layout(cluster_.space().blocks_max());
  const auto* const region = reinterpret_cast<const std::byte*>(&home.words(BlockId{0}));
  if (region[layout.mark(0, block.value)] != std::byte{0}) return;
  if (words.unpublished() && words.read_ts == words.write_ts &&
      home.entry(block).copy.state == State::writable)
    return;
  cluster_.violate("block %lu sleeps at its home %u without a mark, version %lu..%lu with public copy %lu",
                   number(block), home.self().value, words.write_ts, words.read_ts, words.public_ts);
}

// The invariants of a block at each rank, and those that hold once no task is at work (rules/invariants.h).
void StateChecker::check_invariants(BlockId block) {
  const Rank initial = cluster_.space().initial_home(block);
  for (std::uint32_t rank = 0; rank < cluster_.size(); ++rank) {
    Node& node = cluster_.node(rank);
    const BlockWords& words = node.words(block);
    const OwnerWord owner = OwnerWord{words.owner}.resolved(Rank{rank}, initial);
    const char* const broken = coherence::rules::broken_at_rest(
        {node.entry(block), words, owner.tag() != Ownership::link, node.migrating()->acquired()});
    if (broken != nullptr)
      return cluster_.violate("at rest block %lu at node %u: %s does not hold", number(block), rank, broken);
  }
}

void StateChecker::check_node(std::uint32_t rank) {
  Node& node = cluster_.node(rank);
  if (node.migrating() != nullptr) {
    const std::uint64_t acquired = node.migrating()->acquired().value;
    if (acquired < acquired_[rank]) {
      return cluster_.violate("node %u: acquired fell from %lu to %lu", rank, acquired_[rank], acquired);
    }
    acquired_[rank] = acquired;
  }
  if (checks_ % 16 != 0) return;
  SignatureSize size;
  node.protocol().signature(size);
  const std::size_t most = cluster_.configuration().protocol.signature_notices_max;
  if (size.notices > most)
    cluster_.violate("node %u: a signature of %zu notices, at most %zu", rank, size.notices, most);
  if (size.notices == most) world_.reached("signature.full");
}

void StateChecker::check_at_rest() {
  const std::uint64_t blocks = checks_blocks_ ? cluster_.space().blocks() : 0;
  for (std::uint64_t i = 0; i < blocks; ++i) {
    const BlockId block{i};
    check_block(block);
    if (cluster_.violated()) return;
    if (cluster_.has_fixed_home(block)) continue;
    const Chains chains = follow(block);
    check_invariants(block);
    if (chains.free_ends == 1) check_sleep(block, cluster_.node(chains.home));
    if (chains.ends != 1 || chains.free_ends != 1) {
      return cluster_.violate("at rest block %lu has %u chain ends, %u of them free", number(block),
                              chains.ends, chains.free_ends);
    }
  }
  for (std::uint32_t rank = 0; rank < cluster_.size(); ++rank) {
    if (cluster_.node(rank).fabric().operations_in_flight() != 0) {
      return cluster_.violate("at rest node %u has operations in flight", rank);
    }
  }
}

}  // namespace musubi::sim
