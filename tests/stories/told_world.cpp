#include "told_world.h"

#include <array>
#include <sstream>
#include <stdexcept>

#include "coherence/rules/home_words.h"

namespace musubi::stories {
namespace {

using trace::Counter;

constexpr std::array told_counters{std::pair{Counter::read_faults, "read fault"},
                                   std::pair{Counter::write_faults, "write fault"},
                                   std::pair{Counter::first_touches, "first touch"},
                                   std::pair{Counter::fetches, "fetch"},
                                   std::pair{Counter::renewals, "renewal"},
                                   std::pair{Counter::twins, "twin"},
                                   std::pair{Counter::comparisons, "comparison"},
                                   std::pair{Counter::releases, "release"},
                                   std::pair{Counter::silent_releases, "silent release"},
                                   std::pair{Counter::served_live, "served live"},
                                   std::pair{Counter::invalidations, "invalidation"},
                                   std::pair{Counter::downgrades, "downgrade"},
                                   std::pair{Counter::home_migrations, "migration"},
                                   std::pair{Counter::remote_operations, "operation"}};

std::uint64_t option(const std::map<std::string, std::uint64_t>& options, const std::string& name,
                     std::uint64_t otherwise) {
  const auto found = options.find(name);
  return found == options.end() ? otherwise : found->second;
}

sim::Configuration configuration_of(const std::map<std::string, std::uint64_t>& options) {
  for (const auto& [name, value] : options) {
    if (name != "ranks" && name != "blocks" && name != "plain_flags" && name != "leave_unpublished" &&
        name != "lease" && name != "downgrade" && name != "signature" && name != "fixed_homes")
      throw std::runtime_error("a story has no option " + name);
  }
  sim::Configuration configuration = sim::calm(static_cast<std::uint32_t>(option(options, "ranks", 2)));
  configuration.plain_flags = static_cast<unsigned>(option(options, "plain_flags", 0));
  if (option(options, "fixed_homes", 0) != 0) configuration.policy = sim::Policy::home_based;
  coherence::Parameters& protocol = configuration.protocol;
  protocol.leave_unpublished = option(options, "leave_unpublished", 1) != 0;
  protocol.lease_ticks = option(options, "lease", protocol.lease_ticks);
  protocol.downgrade_after_releases =
      static_cast<std::uint32_t>(option(options, "downgrade", protocol.downgrade_after_releases));
  protocol.signature_notices_max = option(options, "signature", protocol.signature_notices_max);
  return configuration;
}

const char* name_of(coherence::State state) {
  using coherence::State;
  switch (state) {
    case State::invalid_clean:
      return "invalid_clean";
    case State::invalid_dirty:
      return "invalid_dirty";
    case State::stores_only:
      return "stores_only";
    case State::readable_clean:
      return "readable_clean";
    case State::readable_dirty:
      return "readable_dirty";
    case State::writable:
      return "writable";
  }
  return "?";
}

std::uint64_t number(const std::string& word, const char* what) {
  std::size_t used = 0;
  std::uint64_t value = 0;
  try {
    value = std::stoull(word, &used, 0);
  } catch (const std::logic_error&) {
    used = 0;
  }
  if (used == 0 || used != word.size()) throw std::runtime_error(word + " is no " + what);
  return value;
}

Task<> read_one(sim::Node& node, std::uint64_t block, std::size_t word, std::uint64_t expected) {
  const std::uint64_t found = co_await sim::load(node, block, word);
  EXPECT_EQ(found, expected) << "what rank " << node.self().value << " reads";
}
Task<> add_one(sim::Node& node, BlockId block, sim::AtomicChange& add) {
  co_await node.modify(block, add);
}

}  // namespace

ToldWorld::ToldWorld(const std::map<std::string, std::uint64_t>& options)
    : blocks_(option(options, "blocks", 1)), stage_(configuration_of(options), blocks_) {}

// "r0.a: writable", and the policy's additional state of the copy.
std::string ToldWorld::sight_of(std::uint32_t rank, BlockId block) {
  sim::Node& node = stage_.node(rank);
  const coherence::Entry& entry = node.entry(block);
  const std::string name = "r" + std::to_string(rank) + "." + static_cast<char>('a' + block.value) + ": ";
  return name + (entry.copy.pinned ? "pinned" : name_of(entry.copy.state)) +
         (node.migrating() != nullptr ? migrating_sight(node, block) : fixed_sight(node, block));
}

// ", version 1, until 11": the copy's version and the end of its lease. At the home ", home of version 1,
// leased until 11".
std::string ToldWorld::fixed_sight(sim::Node& node, BlockId block) {
  const coherence::Entry& entry = node.entry(block);
  const coherence::BlockWords& words = node.words(block);
  std::ostringstream text;
  if (stage_.cluster().space().initial_home(block) == node.self()) {
    const coherence::rules::HomeWord word{words.read_ts};
    text << ", home of version " << words.version
         << (word.is_leased() ? ", leased until " : ", unread since ") << word.time().value;
  } else if (entry.held.write_ts.value != 0) {
    text << ", version " << entry.held.write_ts.value - 1 << ", until " << entry.held.read_ts.value;
  }
  return text.str();
}

// " 1..11, home, public 1": the interval in which the version may be held, the home as this rank knows it,
// and the version of the public copy.
std::string ToldWorld::migrating_sight(sim::Node& node, BlockId block) {
  const coherence::Entry& entry = node.entry(block);
  const coherence::BlockWords& words = node.words(block);
  const Rank initial_home = stage_.cluster().space().initial_home(block);
  const auto owner = remote_lock::OwnerWord{words.owner}.resolved(node.self(), initial_home);
  std::ostringstream text;
  text << " " << entry.held.write_ts.value << ".." << entry.held.read_ts.value;
  if (owner.tag() == remote_lock::Ownership::link) {
    text << ", home by r" << owner.target().value;
  } else {
    text << (owner.tag() == remote_lock::Ownership::locked ? ", locked" : ", home") << " of "
         << words.write_ts << ".." << words.read_ts;
  }
  if (words.public_ts != 0) text << ", public " << words.public_ts;
  if (entry.copy.held_back) text << ", held back";
  if (entry.known.newest.write_ts > entry.held.write_ts)
    text << ", told of " << entry.known.newest.write_ts.value << " by r" << entry.known.writer().value;
  return text.str();
}

std::vector<std::string> ToldWorld::sights() {
  std::vector<std::string> result;
  for (std::uint64_t block = 0; block < blocks_; ++block) {
    for (std::uint32_t rank = 0; rank < stage_.cluster().size(); ++rank)
      result.push_back(sight_of(rank, BlockId{block}));
  }
  return result;
}

std::vector<std::uint64_t> ToldWorld::counts() {
  std::vector<std::uint64_t> result;
  for (std::uint32_t rank = 0; rank < stage_.cluster().size(); ++rank) {
    for (const auto& [counter, name] : told_counters)
      result.push_back(stage_.node(rank).counters().get(counter));
  }
  return result;
}

// "<rank> <verb> [<block> [<value>]]": reads expect the value.
void ToldWorld::perform(std::uint32_t rank, const std::vector<std::string>& words) {
  sim::Node& node = stage_.node(rank);
  const std::string& verb = words.at(1);
  const auto number_at = [&](std::size_t i, const char* what) {
    if (i >= words.size()) throw std::runtime_error(verb + " needs " + what);
    return number(words[i], what);
  };
  const auto block = [&]() -> std::uint64_t {
    if (words.size() < 3 || words[2].size() != 1 || words[2][0] < 'a' ||
        words[2][0] >= 'a' + static_cast<int>(blocks_))
      throw std::runtime_error(verb + " needs a block");
    return static_cast<std::uint64_t>(words[2][0] - 'a');
  };
  const std::size_t word = rank;  // each rank has a word of its own in the block, so that all ranks may write
  if (verb == "reads") {
    sim::do_now(stage_, node, read_one(node, block(), number_at(3, "a word"), number_at(4, "a value")));
  } else if (verb == "writes") {
    sim::do_now(stage_, node, sim::store(node, block(), number_at(3, "a value"), word));
  } else if (verb == "adds") {
    sim::AtomicChange add(word, sim::addition_of(number_at(3, "an amount")), false);
    sim::do_now(stage_, node, add_one(node, BlockId{block()}, add));
  } else if (verb == "locks") {
    sim::do_now(stage_, node, node.lock(LockId{0}));
  } else if (verb == "unlocks") {
    sim::do_now(stage_, node, node.unlock(LockId{0}));
  } else if (verb == "flushes") {
    sim::do_now(stage_, node, node.flush());
  } else if (verb == "pins") {
    const vm::Extent extent = stage_.cluster().space().extent(BlockId{block()});
    node.protocol().pin(BlockId{block()}, 1);
    node.protocol().note_stack(0, extent.address, extent.address + extent.bytes);
  } else {
    throw std::runtime_error("nobody " + verb);
  }
}

std::vector<std::string> ToldWorld::play(const std::string& event) {
  const std::vector<std::string> sights_before = sights();
  const std::vector<std::uint64_t> counts_before = counts();
  if (event == "all meet") {
    sim::all_meet(stage_);
  } else {
    std::istringstream in(event);
    std::vector<std::string> words;
    for (std::string word; in >> word;) words.push_back(word);
    if (words.size() < 2 || words[0].size() < 2 || words[0][0] != 'r')
      throw std::runtime_error("who: " + event);
    const std::uint64_t rank = number(words[0].substr(1), "rank");
    if (rank >= stage_.cluster().size()) throw std::runtime_error("there is no rank " + words[0]);
    perform(static_cast<std::uint32_t>(rank), words);
  }
  std::vector<std::string> told;
  const std::vector<std::string> sights_now = sights();
  for (std::size_t i = 0; i < sights_now.size(); ++i) {
    if (sights_now[i] != sights_before[i]) told.push_back(sights_now[i]);
  }
  const std::vector<std::uint64_t> counts_now = counts();
  for (std::uint32_t rank = 0; rank < stage_.cluster().size(); ++rank) {
    std::string line;
    for (std::size_t i = 0; i < told_counters.size(); ++i) {
      const std::size_t at = rank * told_counters.size() + i;
      const std::uint64_t times = counts_now[at] - counts_before[at];
      if (times == 0) continue;
      line += (line.empty() ? "" : ", ") + std::to_string(times) + " " + told_counters[i].second;
    }
    if (!line.empty()) told.push_back("r" + std::to_string(rank) + ": " + line);
  }
  return told;
}

}  // namespace musubi::stories
