#include "stores/x86_64_search.h"

#include <algorithm>
#include <utility>

#include "atomics/x86_64_entry.h"
#include "stores/known_calls.h"

namespace musubi::stores::x86_64 {
namespace {

constexpr std::uint32_t word_bytes = 8, int_bytes = 4;

// Neither store reaches an object other than the root's.
Site joined(const Site& a, const Site& b) {
  return {spread(stores::joined(a.address, b.address), 1), std::max(a.bytes, b.bytes),
          a.is_atomic && b.is_atomic};
}

}  // namespace

RegionStores find_stores(std::uintptr_t function, Passes passes, const LoadedCode& code,
                         const DataObjects& data) {
  return Search(code, data).run(function, passes);
}

RegionStores Search::run(std::uintptr_t function, Passes passes) {
  if (passes == Passes::words) {
    if (is_looked_into(function)) {
      walk_over(function, entry_with_words(), 0);
    } else {
      give_up();
    }
  } else {
    Arguments arguments{};
    arguments[0] = Value::exactly(Root::argument, 0);
    look_at(function, arguments, 0);
  }
  found_.is_known = !given_up_;
  found_.roots = places_.roots();
  return std::move(found_);
}

// Above the return address are the words that do not fit into registers.
Frame Search::entry_with_words() {
  constexpr std::int64_t in_memory = 10;
  Arguments arguments{};
  arguments[0] = arguments[1] = {Root::outer, false, 1, 0};
  std::int64_t word = 0;
  const auto next = [&] { return places_.loaded(Value::exactly(Root::argument, word_bytes * word++)); };
  for (std::size_t i = 2; i < arguments.size(); ++i) arguments[i] = next();
  Frame entry = Frame::at_entry(arguments);
  for (std::int64_t i = 0; i < in_memory; ++i)
    entry.store(Value::exactly(Root::frame, word_bytes * (1 + i)), word_bytes, next());
  return entry;
}

Search::Summary Search::look_at(std::uintptr_t function, const Arguments& arguments, std::size_t depth) {
  if (given_up_ || !is_looked_into(function) || depth == depth_max) return give_up();
  std::vector<Known>& known = known_[function];
  const auto same = std::ranges::find(known, arguments, &Known::arguments);
  if (same != known.end()) return same->is_open ? Summary{} : same->summary;
  const std::size_t index = known.size();
  known.push_back({arguments, {}, true});
  const Summary summary = walk_over(function, Frame::at_entry(arguments), depth);
  known_[function][index] = {arguments, summary, false};
  return summary;
}

Search::Summary Search::walk_over(std::uintptr_t function, const Frame& entry, std::size_t depth) {
  Walk walk{.depth = depth, .targets = {}, .by_address = {}};
  branch(walk, function, entry);
  for (bool goes_on = true; goes_on && !given_up_;) {
    goes_on = false;
    for (std::size_t i = 0; i < walk.targets.size() && !given_up_; ++i) {
      if (!std::exchange(walk.targets[i].is_pending, false)) continue;
      walk_from(walk, walk.targets[i].address, walk.targets[i].frame);
      goes_on = true;
    }
  }
  return walk.summary;
}

void Search::branch(Walk& walk, std::uintptr_t target, const Frame& frame) {
  const auto [found, is_new] = walk.by_address.try_emplace(target, walk.targets.size());
  if (is_new) {
    walk.targets.push_back({target, frame, true});
  } else if (Target& known = walk.targets[found->second]; known.frame.join(frame)) {
    known.is_pending = true;
  }
}

// From one target to the end of the path, or to a known target.
void Search::walk_from(Walk& walk, std::uintptr_t address, Frame frame) {
  std::uintptr_t at = address;
  do {
    if (++instructions_ > instructions_max || !decode(at)) {
      give_up();
      return;
    }
    if (!follow(walk, at, frame)) return;
    if (walk.by_address.contains(at)) return branch(walk, at, frame);
  } while (!given_up_);
}

bool Search::is_looked_into(std::uintptr_t code) const {
  const LoadedCode::Range* const range = code_.range_at(code);
  return range != nullptr &&
         (range->kind == LoadedCode::Kind::program || range->kind == LoadedCode::Kind::languages);
}

// Patched atomics are decoded from their original bytes.
bool Search::decode(std::uintptr_t address) {
  if (const atomics::Site* const site = atomics::x86_64::patched_site(address))
    return step_.decode(site->code.data(), site->bytes, address);
  const LoadedCode::Range* const range = code_.range_at(address);
  return is_looked_into(address) &&
         step_.decode(reinterpret_cast<const void*>(address), range->end - address, address);
}

bool Search::follow(Walk& walk, std::uintptr_t& at, Frame& frame) {
  if (const std::optional<Site> store = step_.store(frame, places_)) {
    note(walk, *store);
    // This store may change the frame through an escaped address.
    const Root root = store->address.root;
    if (root == Root::outer || root == Root::number) frame.change_let_out();
  }
  step_.carry_out(frame, places_);
  // A call overwrites step_.
  const Step::Goes goes = step_.goes();
  const std::uintptr_t next = step_.next(), target = step_.target(), named = step_.named_address();
  // Code that gets the address of a function may call it: the runtime does, with tasks.
  if (named != 0 && code_.range_at(named) != nullptr) look_at(named, {}, walk.depth + 1);
  at = next;
  switch (goes) {
    case Step::Goes::on:
      return true;
    case Step::Goes::to_either:
      branch(walk, target, frame);
      return true;
    case Step::Goes::to_target:
      branch(walk, target, frame);
      return false;
    case Step::Goes::into_call:
      return call(walk, look_at(target, frame.arguments(), walk.depth + 1), frame);
    case Step::Goes::into_slot:
      return call(walk, call_slot(walk, target, frame), frame);
    case Step::Goes::to_slot: {
      if (call(walk, call_slot(walk, target, frame), frame)) leave(walk, frame);
      return false;
    }
    case Step::Goes::back:
      leave(walk, frame);
      return false;
    case Step::Goes::nowhere:
      return false;
    case Step::Goes::anywhere:
      break;
  }
  give_up();
  return false;
}

// Result: whether the function returns.
bool Search::call(Walk& walk, const Summary& summary, Frame& frame) {
  if (summary.gives_results) {
    frame.call_with_results();
    return true;
  }
  walk.summary.changes_outer = walk.summary.changes_outer || summary.changes_outer;
  frame.call(summary.changed, summary.changes_outer, summary.result);
  return summary.returns;
}

void Search::leave(Walk& walk, const Frame& frame) {
  const Value& result = frame.value(rax);
  const Value value = result.root == Root::frame ? Value{} : result;
  Summary& summary = walk.summary;
  summary.changed |= frame.changed();
  summary.result = summary.returns ? stores::joined(summary.result, value) : value;
  summary.returns = true;
}

Search::Summary Search::call_slot(Walk& walk, std::uintptr_t slot, const Frame& frame) {
  const char* const name = code_.imported_name(slot);
  if (name == nullptr) return give_up();
  const std::uintptr_t function = code_.imported_address(slot, name);
  const LoadedCode::Range* const range = code_.range_at(function);
  // A program may have a function of its own by this name.
  const bool is_own = range != nullptr && range->kind == LoadedCode::Kind::program;
  const bool is_number = range != nullptr && range->kind == LoadedCode::Kind::mathematics;
  Summary summary;  // of a function with all effects that are possible
  switch (is_own ? KnownCall::unknown : known_call(name)) {
    case KnownCall::writes_nothing:
      return summary;
    case KnownCall::allocates:
      summary.result = Value::exactly(Root::fresh, 0);
      return summary;
    case KnownCall::writes_words:
      found_.words = std::min(found_.words, int_bytes);
      return summary;
    case KnownCall::gives_results:
      summary.gives_results = true;
      return summary;
    case KnownCall::writes_first: {
      note(walk, {spread(frame.value(rdi), 1), 1, false});
      summary.result = frame.value(rdi);
      return summary;
    }
    case KnownCall::ends:
      summary.returns = false;
      return summary;
    case KnownCall::unknown:
      break;
  }
  return is_number ? summary : look_at(function, frame.arguments(), walk.depth + 1);
}

// Stores to frames and to memory that the region has allocated are made by their own threads, unless their
// address has escaped; an address that another thread then loads from changing memory is an unknown place.
void Search::note(Walk& walk, const Site& site) {
  const bool is_lost = !site.address.is_exact();
  switch (site.address.root) {
    case Root::number:
      if (!is_lost) {
        const Value named = places_.named(static_cast<std::uintptr_t>(site.address.offset));
        if (Roots::is_found(named.root)) add({named, site.bytes, site.is_atomic});
        return;  // otherwise it is no memory of a variable
      }
      if (!site.is_atomic) give_up();
      found_.changes_pointers = found_.changes_pointers || site.bytes >= word_bytes;
      return;
    case Root::outer:
      walk.summary.changes_outer = true;
      return;
    case Root::storage:
      found_.writes_storage = true;
      return;
    case Root::frame:
    case Root::fresh:
      return;
    default:
      return add(site);
  }
}

void Search::add(const Site& site) {
  std::vector<Site>& sites = found_.sites;
  if (std::ranges::find(sites, site) != sites.end()) return;
  if (sites.size() < RegionStores::sites_max) return sites.push_back(site);
  const auto like =
      std::ranges::find_if(sites, [&](const Site& other) { return other.address.root == site.address.root; });
  if (like == sites.end()) {
    give_up();
  } else {
    *like = joined(*like, site);
  }
}

}  // namespace musubi::stores::x86_64
