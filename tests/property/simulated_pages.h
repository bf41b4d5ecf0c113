// Ranks with relocatable pages over a simulated network as bad as a seed wants it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include "base/sparse_array.h"
#include "global_pages/one_sided_directory.h"
#include "global_pages/pages.h"
#include "sim_job.h"

namespace musubi::global_pages {

struct PagesShape {
  std::uint32_t ranks = 2;
  std::size_t pages = 4;
  std::size_t slots = 4;
  std::uint64_t page_bytes = 32;
  std::size_t frames = 8;  // of each rank
  bool by_processor = true;
};

inline constexpr fabric::RegionId simulated_region{0};
inline constexpr std::byte poison{0xee};

class NodeInterruption final : public Interruption {
 public:
  explicit NodeInterruption(fabric::sim::SimFabric& node) : node_(node) {}
  void pass() noexcept override { node_.others_may_act(); }
  void touch() noexcept override { node_.touch(); }
  std::size_t stretch(std::size_t bytes) noexcept override { return bytes; }

 private:
  fabric::sim::SimFabric& node_;
};

class SimulatedMember final : public Frames {
 public:
  SimulatedMember(fabric::sim::SimFabric& node, const PagesShape& shape)
      : fabric(node),
        shape_(shape),
        interruption_(node),
        slots_at((shape.pages * Entry::bytes_for(shape.ranks) + 63) / 64 * 64),
        frames_at_(slots_at + shape.slots * sizeof(Slot)),
        memory(frames_at_ + shape.frames * shape.page_bytes) {
    for (std::size_t i = 0; i < shape.frames; ++i) free_.push_back(frames_at_ + i * shape.page_bytes);
    std::memset(memory.data() + frames_at_, static_cast<int>(poison), shape.frames * shape.page_bytes);
    node.attach({simulated_region, memory.data(), memory_bytes()});
  }
  std::size_t memory_bytes() const { return frames_at_ + shape_.frames * shape_.page_bytes; }

  void start(std::vector<std::unique_ptr<SimulatedMember>>& all, InjectedBug bug) {
    all_ = &all;
    Hooks hooks;
    hooks.inject(bug);
    hooks.let_interrupt(&interruption_);
    slots.emplace(
        fabric, SlotPlace{simulated_region, slots_at, own_slots(), shape_.slots, shape_.by_processor}, hooks);
    directory.emplace(fabric, *slots, simulated_region, memory.data(), hooks);
    pages.emplace(fabric, *slots, *directory, *this);
  }

  Task<std::optional<std::uint64_t>> take(std::uint64_t) override {
    if (free_.empty()) co_return std::nullopt;
    const std::uint64_t place = free_.back();
    free_.pop_back();
    co_return place;
  }
  // What reads there afterwards sees it at once.
  Task<> give_back(Rank owner, std::uint64_t place, std::uint64_t bytes) override {
    SimulatedMember& there = *(*all_)[owner.value];
    std::memset(there.memory.data() + place, static_cast<int>(poison), bytes);
    there.free_.push_back(place);
    co_return;
  }
  std::uint64_t first_frame() {
    const std::uint64_t place = free_.back();
    free_.pop_back();
    std::memset(memory.data() + place, 0, shape_.page_bytes);
    return place;
  }

  Slot* own_slots() { return reinterpret_cast<Slot*>(memory.data() + slots_at); }
  Entry& entry(const Page& page) { return *reinterpret_cast<Entry*>(memory.data() + page.entry_at); }
  std::size_t free_frames() const { return free_.size(); }

  fabric::Fabric& fabric;

 private:
  const PagesShape shape_;
  NodeInterruption interruption_;

 public:
  const std::size_t slots_at;

 private:
  const std::size_t frames_at_;
  std::vector<std::uint64_t> free_;
  std::vector<std::unique_ptr<SimulatedMember>>* all_ = nullptr;

 public:
  SparseArray<std::byte> memory;
  std::optional<SharerSlots> slots;
  std::optional<OneSidedDirectory> directory;
  std::optional<Pages> pages;
};

struct SimulatedPages {
  SimulatedPages(std::uint64_t seed, const PagesShape& form,
                 const fabric::conformance::SimBehaviour& behaviour, InjectedBug bug = InjectedBug::none)
      : shape(form), sim(seed, form.ranks, behaviour) {
    for (std::uint32_t rank = 0; rank < shape.ranks; ++rank)
      members.push_back(std::make_unique<SimulatedMember>(sim.node(rank), shape));
    for (auto& member : members) member->start(members, bug);
    for (std::size_t i = 0; i < shape.pages; ++i) {
      const Page one = page(i);
      SimulatedMember& home = *members[one.home.value];
      home.entry(one).where = Where::of(one.home, home.first_frame(), 0);
    }
  }
  Page page(std::size_t index) const {
    return {(index + 1) * 4096, shape.page_bytes, Rank{static_cast<std::uint32_t>(index % shape.ranks)},
            index * Entry::bytes_for(shape.ranks)};
  }
  Random& random() { return sim.world().random(); }

  const PagesShape shape;
  std::vector<std::unique_ptr<SimulatedMember>> members;  // outlive the tasks
  fabric::conformance::SimJob sim;
};

}  // namespace musubi::global_pages
