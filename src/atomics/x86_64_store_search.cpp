#include "atomics/x86_64_store_search.h"

#include <sys/mman.h>

#include <algorithm>
#include <new>
#include <utility>

#include "atomics/known_calls.h"
#include "atomics/x86_64_entry.h"
#include "os/memory.h"

namespace musubi::atomics {

using x86_64::Frame;
using x86_64::Step;

namespace {

// No address of a user's program has it.
constexpr std::uintptr_t called_with_argument = std::uintptr_t{1} << 63;
constexpr std::size_t word_bytes = 8;
constexpr std::size_t int_bytes = 4;

}  // namespace

StoreBound StoreBounds::Search::bound_of(std::uintptr_t function) noexcept {
  if (code_.refresh()) memory_.forget_all();
  instructions_ = 0;
  given_up_ = false;
  const Summary summary = look_at(function, true, nullptr);
  if (summary.narrowest < int_bytes) return {};
  return {summary.narrowest, {exceptions_.data(), exception_count_}};
}

StoreBounds::Search::Summary StoreBounds::Search::look_at(std::uintptr_t function, bool with_argument,
                                                          Walk* caller) noexcept {
  const LoadedCode::Range* const range = code_.range_at(function);
  if (!given_up_ && range != nullptr && range->kind == LoadedCode::Kind::mathematics)
    return {int_bytes, true};
  if (given_up_ || !is_looked_into(function)) return give_up();
  BoundMemory::Entry* const entry = memory_.at(with_argument ? function | called_with_argument : function);
  if (entry == nullptr) return give_up();
  if (entry->is_open) {
    caller->outer_depth = std::min(caller->outer_depth, entry->depth);
    return {word_bytes, true};
  }
  if (memory_.holds(*entry)) {
    if (caller != nullptr) caller->outer_depth = std::min(caller->outer_depth, entry->outer_depth);
    return entry->summary;
  }
  const std::uint32_t depth = caller == nullptr ? 0 : caller->depth + 1;
  if (depth == BoundMemory::depth_max) return give_up();
  return walk_over(function, with_argument, *entry, depth, caller);
}

StoreBounds::Search::Summary StoreBounds::Search::walk_over(std::uintptr_t function, bool with_argument,
                                                            BoundMemory::Entry& entry, std::uint32_t depth,
                                                            Walk* caller) noexcept {
  Walk walk{depth, targets_.count()};
  memory_.open(entry, depth);
  branch(walk, function, Frame::at_entry(with_argument));
  for (bool goes_on = true; goes_on;) {
    goes_on = false;
    for (std::size_t i = walk.first_target; i < targets_.count() && !given_up_; ++i) {
      if (!std::exchange(targets_[i].pending, false)) continue;
      walk_from(walk, targets_[i].address, targets_[i].frame);
      goes_on = true;
    }
  }
  targets_.drop(walk.first_target);
  if (given_up_) walk.summary = {1, true};
  // A function that calls itself lacks nothing of itself.
  if (walk.outer_depth >= depth) walk.outer_depth = BoundMemory::no_depth;
  memory_.close(entry, walk.summary, given_up_ ? BoundMemory::no_depth : walk.outer_depth);
  if (caller != nullptr) caller->outer_depth = std::min(caller->outer_depth, walk.outer_depth);
  return walk.summary;
}

void StoreBounds::Search::branch(Walk& walk, std::uintptr_t target, const Frame& frame) noexcept {
  if (x86_64::BranchTargets::Target* const known = targets_.find(target, walk.first_target)) {
    if (known->frame.join(frame)) known->pending = true;
  } else if (!targets_.add(target, frame)) {
    give_up();
  }
}

// From one target to where the way ends or meets another.
void StoreBounds::Search::walk_from(Walk& walk, std::uintptr_t address, Frame frame) noexcept {
  std::uintptr_t at = address;
  do {
    if (++instructions_ > instructions_max || !decode(at)) {
      give_up();
      return;
    }
    if (!follow(walk, at, frame)) return;
    if (targets_.find(at, walk.first_target) != nullptr) return branch(walk, at, frame);
  } while (!given_up_);
}

bool StoreBounds::Search::is_looked_into(std::uintptr_t code) const noexcept {
  const LoadedCode::Range* const range = code_.range_at(code);
  return range != nullptr &&
         (range->kind == LoadedCode::Kind::program || range->kind == LoadedCode::Kind::languages);
}

// Of atomics that were patched, what they were before.
bool StoreBounds::Search::decode(std::uintptr_t address) noexcept {
  if (const Site* const site = x86_64::patched_site(address))
    return step_.decode(site->code.data(), site->bytes, address);
  const LoadedCode::Range* const range = code_.range_at(address);
  return is_looked_into(address) &&
         step_.decode(reinterpret_cast<const void*>(address), range->end - address, address);
}

bool StoreBounds::Search::follow(Walk& walk, std::uintptr_t& at, Frame& frame) noexcept {
  if (const std::optional<Step::Store> store = step_.store(frame)) note(walk, *store);
  step_.carry_out(frame);
  // A call walks over other code.
  const Step::Goes goes = step_.goes();
  const std::uintptr_t next = step_.next(), target = step_.target(), named = step_.named_address();
  // Code that gets the address of a function may call it: the runtime does, with tasks.
  if (named != 0 && code_.range_at(named) != nullptr) call(walk, named);
  at = next;
  switch (goes) {
    case Step::Goes::on:
      return true;
    case Step::Goes::to_either:
      branch(walk, target, frame);
      return true;
    case Step::Goes::to_target:
      at = target;
      return true;
    case Step::Goes::into_call:
    case Step::Goes::into_slot:
      frame.call();
      return (goes == Step::Goes::into_call ? call(walk, target) : call_slot(walk, target)).returns;
    case Step::Goes::to_slot:
      walk.summary.returns = call_slot(walk, target).returns || walk.summary.returns;
      return false;
    case Step::Goes::back:
      walk.summary.returns = true;
      return false;
    case Step::Goes::nowhere:
      return false;
    case Step::Goes::anywhere:
      break;
  }
  give_up();
  return false;
}

StoreBounds::Search::Summary StoreBounds::Search::call(Walk& walk, std::uintptr_t function) noexcept {
  const Summary summary = look_at(function, false, &walk);
  narrow(walk, summary.narrowest);
  return summary;
}

StoreBounds::Search::Summary StoreBounds::Search::call_slot(Walk& walk, std::uintptr_t slot) noexcept {
  const char* const name = code_.imported_name(slot);
  if (name == nullptr) return give_up();
  const std::uintptr_t function = code_.imported_address(slot, name);
  const LoadedCode::Range* const range = code_.range_at(function);
  // A program may have a function of its own by this name.
  const bool is_own = range != nullptr && range->kind == LoadedCode::Kind::program;
  switch (is_own ? KnownCall::unknown : known_call(name)) {
    case KnownCall::writes_nothing:
      return {word_bytes, true};
    case KnownCall::writes_words:
      narrow(walk, int_bytes);
      return {int_bytes, true};
    case KnownCall::ends:
      return {word_bytes, false};
    case KnownCall::unknown:
      break;
  }
  return call(walk, function);
}

void StoreBounds::Search::narrow(Walk& walk, std::size_t bytes) noexcept {
  walk.summary.narrowest = std::min(walk.summary.narrowest, static_cast<std::uint8_t>(bytes));
}

void StoreBounds::Search::note(Walk& walk, const Step::Store& store) noexcept {
  const bool whole_words = store.bytes >= word_bytes && store.address % word_bytes == 0;
  if (store.address != 0 && (whole_words || except({store.address, store.bytes}))) return;
  narrow(walk, store.bytes);
  if (store.bytes < int_bytes || store.address != 0) give_up();
}

bool StoreBounds::Search::except(NarrowPlace place) noexcept {
  const auto end = exceptions_.begin() + static_cast<std::ptrdiff_t>(exception_count_);
  const bool known = std::any_of(exceptions_.begin(), end, [place](const NarrowPlace& other) {
    return other.address == place.address && other.bytes == place.bytes;
  });
  if (known) return true;
  if (exception_count_ == exceptions_max) return false;
  exceptions_[exception_count_++] = place;
  return true;
}

StoreBounds::~StoreBounds() {
  if (search_ != nullptr) ::munmap(search_, sizeof(Search));
}

StoreBound StoreBounds::of(std::uintptr_t function) noexcept {
  if (search_ == nullptr) {
    auto memory = os::Mapping::anywhere(sizeof(Search), os::Protection::read_write);
    if (memory) search_ = new (memory.value().release()) Search;
  }
  return search_ != nullptr ? search_->bound_of(function) : StoreBound{};
}

}  // namespace musubi::atomics
