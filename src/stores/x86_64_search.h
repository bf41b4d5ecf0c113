// Walks over all code that a region can reach, and finds its stores.
#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "stores/loaded_objects.h"
#include "stores/roots.h"
#include "stores/store_bounds.h"
#include "stores/x86_64_step.h"

namespace musubi::stores::x86_64 {

// The stores of the region `function`, whose record is on a stack.
RegionStores find_stores(std::uintptr_t function, Passes passes, const LoadedCode& code,
                         const DataObjects& data);

class Search {
 public:
  Search(const LoadedCode& code, const DataObjects& data) : code_(code), places_(data) {}

  RegionStores run(std::uintptr_t function, Passes passes);

 private:
  static constexpr std::size_t instructions_max = 100'000, depth_max = 48;

  // The effects of a function on its caller.
  struct Summary {
    bool returns = true;
    bool changes_outer = true;   // frames of its callers
    bool gives_results = false;  // only where its arguments point to in the caller's frame
    RegisterSet changed = changed_by_calls;
    Value result{};
  };
  struct Known {
    Arguments arguments;
    Summary summary;
    bool is_open;  // in progress: the caller's own summary will include its stores
  };
  // A point of a function that several paths lead to.
  struct Target {
    std::uintptr_t address;
    Frame frame;
    bool is_pending;  // still to be walked
  };
  // The state of a walk over one function.
  struct Walk {
    std::size_t depth;
    std::vector<Target> targets;
    std::unordered_map<std::uintptr_t, std::size_t> by_address;
    Summary summary{false, false, false, 0, Value{}};
  };

  // The search cannot bound the stores.
  Summary give_up() {
    given_up_ = true;
    return {};
  }
  Summary look_at(std::uintptr_t function, const Arguments& arguments, std::size_t depth);
  Summary walk_over(std::uintptr_t function, const Frame& entry, std::size_t depth);
  Frame entry_with_words();
  void walk_from(Walk& walk, std::uintptr_t address, Frame frame);
  bool decode(std::uintptr_t address);
  // Result: whether the path continues after the step, or at a new `at`.
  bool follow(Walk& walk, std::uintptr_t& at, Frame& frame);
  void branch(Walk& walk, std::uintptr_t target, const Frame& frame);
  bool call(Walk& walk, const Summary& summary, Frame& frame);
  static void leave(Walk& walk, const Frame& frame);
  Summary call_slot(Walk& walk, std::uintptr_t slot, const Frame& frame);
  bool is_looked_into(std::uintptr_t code) const;
  void note(Walk& walk, const Site& site);
  void add(const Site& site);

  const LoadedCode& code_;
  Places places_;
  Step step_;
  std::unordered_map<std::uintptr_t, std::vector<Known>> known_;
  RegionStores found_;
  std::size_t instructions_ = 0;
  bool given_up_ = false;
};

}  // namespace musubi::stores::x86_64
