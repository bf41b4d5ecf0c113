// Ranks with relocatable pages over a simulated network as bad as a seed demands.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include "base/event.h"
#include "base/sparse_array.h"
#include "fabric/transfer.h"
#include "global_pages/directory.h"
#include "global_pages/pages.h"
#include "sim_job.h"

namespace musubi::global_pages {

struct PagesShape {
  std::uint32_t ranks = 2;
  std::size_t pages = 4;
  std::size_t slots = 4;
  std::uint64_t page_bytes = 32;
  std::size_t frames = 8;  // frames of each rank
  bool by_processor = true;
  bool by_homes = false;  // the directory is accessed by the processors of the homes
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

// Requests to homes and their answers, as messages.
class SimulatedCalls final : public HomeCalls, public fabric::Listener {
 public:
  SimulatedCalls(fabric::sim::SimFabric& node, HomeService& service)
      : node_(node), service_(service), thread_(node.add_thread()) {
    node.listen(fabric::MessageKind::unassigned, this);
  }

  Task<std::size_t> ask(Rank home, std::span<const std::byte> question,
                        std::span<std::byte> answer) override {
    if (home == node_.self()) co_return service_.serve(home, question, answer);
    Call call{answer, 0, {}};
    Packet packet = packet_of({&call, false}, question);
    co_await fabric::deliver(node_, home, fabric::MessageKind::unassigned, fabric::Urgency::promptly, packet);
    co_await call.answered;
    co_return call.bytes;
  }

  const char* on_message(Rank from, std::span<const std::byte> body) noexcept override {
    Head head;
    std::memcpy(&head, body.data(), sizeof head);
    const std::span<const std::byte> rest = body.subspan(sizeof head);
    if (head.is_answer) {
      std::memcpy(head.call->answer.data(), rest.data(), rest.size());
      head.call->bytes = rest.size();
      head.call->answered.set();
      return nullptr;
    }
    std::vector<std::byte> answer(HomeService::answer_bytes(node_.ranks()));
    answer.resize(service_.serve(from, rest, answer));
    answers_.push_back(send(from, packet_of({head.call, true}, answer)));
    answers_.back().start(thread_, nullptr);
    return nullptr;
  }

 private:
  using Packet = std::vector<std::byte>;
  struct Call {
    std::span<std::byte> answer;
    std::size_t bytes;
    Event answered;
  };
  struct Head {
    Call* call;
    bool is_answer;
  };
  static Packet packet_of(Head head, std::span<const std::byte> rest) {
    Packet packet(sizeof head + rest.size());
    std::memcpy(packet.data(), &head, sizeof head);
    std::memcpy(packet.data() + sizeof head, rest.data(), rest.size());
    return packet;
  }
  Task<> send(Rank to, Packet packet) {
    co_await fabric::deliver(node_, to, fabric::MessageKind::unassigned, fabric::Urgency::promptly, packet);
  }

  fabric::sim::SimFabric& node_;
  HomeService& service_;
  Executor& thread_;
  std::vector<Task<>> answers_;
};

class SimulatedMember final : public Frames {
 public:
  SimulatedMember(fabric::sim::SimFabric& node, const PagesShape& shape)
      : fabric(node),
        node_(node),
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
    if (shape_.by_homes) {
      service_.emplace(shape_.ranks, memory.data(), hooks);
      calls_.emplace(node_, *service_);
      directory_ = std::make_unique<HomeDirectory>(*calls_, shape_.ranks);
    } else {
      directory_ = std::make_unique<OneSidedDirectory>(fabric, simulated_region, hooks);
    }
    relocation_.emplace(fabric, *slots, *directory_, simulated_region, memory.data(), hooks);
    pages.emplace(fabric, *slots, *directory_, *relocation_, *this);
  }

  Task<std::optional<std::uint64_t>> take(std::uint64_t) override {
    if (free_.empty()) co_return std::nullopt;
    const std::uint64_t place = free_.back();
    free_.pop_back();
    co_return place;
  }
  // Later reads there see it at once.
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
  fabric::sim::SimFabric& node_;
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

 private:
  std::optional<HomeService> service_;
  std::optional<SimulatedCalls> calls_;
  std::unique_ptr<Directory> directory_;
  std::optional<Relocation> relocation_;

 public:
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
