// The fabric driver `sim`: peers in one process and in virtual time, as hostile as the contract of fabric.h
// allows. Batches overtake each other, long steps take effect in pieces, completions are late, posts are
// refused at random; nothing is dropped or repeated, and messages of one sender to one receiver stay in
// order. Used by one thread; outside of World::step() only to start tasks.
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <unordered_map>
#include <vector>

#include "base/frame_pool.h"
#include "fabric/fabric.h"
#include "simulator/fabric/hostility.h"
#include "simulator/fabric/sim_executor.h"
#include "simulator/fabric/world.h"
#include "trace/counters.h"

namespace musubi::fabric::sim {

class SimFabric;

// One direction of a node's link to the network: it serves one transfer at a time.
class Port {
 public:
  // A transfer that takes `duration_ns` arrives at the port. Result: when its turn begins.
  std::uint64_t begin(std::uint64_t now_ns, std::uint64_t duration_ns) noexcept {
    const std::uint64_t turn = std::max(now_ns, free_at_ns_);
    free_at_ns_ = turn + duration_ns;
    return turn;
  }
  // The last byte of a transfer that takes `duration_ns` arrives, after a path without other transfers.
  // Result: when the transfer ends.
  std::uint64_t end(std::uint64_t now_ns, std::uint64_t duration_ns) noexcept {
    free_at_ns_ = std::max(now_ns, free_at_ns_ + duration_ns);
    return free_at_ns_;
  }

 private:
  std::uint64_t free_at_ns_ = 0;
};

// All nodes of a world and the network between them.
class Network {
 public:
  Network(World& world, std::uint32_t ranks, const LatencyModel& model, const Hostility& hostility);
  ~Network();

  World& world() noexcept { return world_; }
  const LatencyModel& model() const noexcept { return model_; }
  const Hostility& hostility() const noexcept { return hostility_; }
  std::uint32_t ranks() const noexcept { return static_cast<std::uint32_t>(nodes_.size()); }
  SimFabric& node(Rank rank) noexcept { return *nodes_[rank.value]; }

  // Ends all hostility: for the phase that demands progress.
  void become_calm() noexcept;

 private:
  World& world_;
  LatencyModel model_;
  Hostility hostility_;
  std::vector<std::unique_ptr<SimFabric>> nodes_;
};

class SimFabric final : public Fabric {
 public:
  SimFabric(Network& network, Rank self);
  ~SimFabric();

  // Registers memory of this node; before use.
  void attach(const RegionMemory& memory);
  World& world() noexcept { return world_; }
  SimExecutor& executor() noexcept { return executor_; }
  // The executor of another thread of this node.
  SimExecutor& add_thread() { return *threads_.emplace_back(std::make_unique<SimExecutor>(executor_)); }

  // From now on this node may be stopped: at `percent` of the calls of others_may_act(), and at a tenth of
  // that of the calls of touch(), which are many. Each batch and message calls touch().
  void allow_interruptions(unsigned percent) noexcept { interruption_ = percent; }
  void others_may_act() noexcept {
    if (interruption_ != 0) interrupt(interruption_ * 10);
  }
  void touch() noexcept {
    if (interruption_ != 0) interrupt(interruption_);
  }
  trace::Counters& counters() noexcept { return counters_; }
  unsigned operations_in_flight() const noexcept { return in_flight_; }
  // To other nodes so far; also in bytes.
  std::uint64_t messages_sent(MessageKind kind) const noexcept {
    return messages_sent_[static_cast<std::size_t>(kind)];
  }
  std::uint64_t message_bytes_sent() const noexcept { return message_bytes_sent_; }
  // Batches of other nodes on this node's memory so far.
  std::uint64_t batches_served() const noexcept { return batches_served_; }
  // Batches and messages of other nodes that arrived while no thread of this node polled: they wake its
  // service thread.
  std::uint64_t arrivals_that_wake() const noexcept { return arrivals_that_wake_; }

  Rank self() const noexcept override { return self_; }
  std::uint32_t ranks() const noexcept override { return network_.ranks(); }
  Capabilities capabilities(Rank peer) const noexcept override {
    return {.cpu_atomics_coherent = true,
            .local_pointer = is_near(peer),
            .bandwidth_delay_bytes = network_.model().bandwidth_delay_bytes(self_.value, peer.value)};
  }
  Outcome post(Rank peer, std::span<const Step> steps, Event& completion) noexcept override;
  Outcome send(Rank peer, MessageKind kind, Urgency urgency,
               std::span<const std::byte> body) noexcept override;
  void listen(MessageKind kind, Listener* listener) noexcept override;
  void offer(ProcedureId id, Procedure procedure) noexcept override { procedures_.offer(id, procedure); }
  // All arrivals are events of the world: there is nothing to poll and no thread to wake.
  bool progress() noexcept override { return false; }
  void wait(const std::atomic<bool>&) noexcept override;
  void wake() noexcept override {}
  void wait_for_service() noexcept override;
  void wake_service() noexcept override {}
  void begin_polling() noexcept override { ++looks_; }
  void end_polling() noexcept override { --looks_; }
  std::byte* direct(Rank peer, RegionId region) noexcept override;
  // Virtual time does not pass while a thread polls, so one check suffices.
  bool watch(std::atomic_ref<std::uint64_t> word, std::uint64_t unwanted) noexcept override {
    return word.load() != unwanted;
  }

 private:
  struct Message;
  struct Operation;
  // Messages of one sender on their way to this node. Arrivals are events, each of which takes the oldest
  // message, so that a frozen receiver cannot reorder them.
  struct Link final : Occurrence {
    Link(SimFabric& receiver_, Rank sender_);
    void occur(std::uint64_t argument) noexcept override;
    void deliver_oldest() noexcept;
    SimFabric& receiver;
    Rank sender;
    Message* first = nullptr;
    Message* last = nullptr;
    std::uint64_t last_arrival_ns = 0;
  };

  void interrupt(unsigned per_mille) noexcept;
  // Counts an arrival from another node.
  void note_arrival() noexcept { arrivals_that_wake_ += looks_ == 0; }
  Outcome take(Rank peer, std::span<const Step> steps, Event& completion) noexcept;
  bool is_near(Rank peer) const noexcept {
    return network_.model().local_pointer && network_.model().is_one_host(self_.value, peer.value);
  }
  std::uint64_t travel_ns(Rank peer, unsigned slowness) noexcept;
  std::uint64_t link_ns(std::uint64_t bytes) const noexcept;
  Link& link_from(Rank sender);
  void count_bytes(const SimFabric& peer, std::uint64_t bytes) noexcept {
    if (&peer != this) counters_.add(trace::Counter::remote_bytes, bytes);
  }

  Network& network_;
  World& world_;
  Rank self_;
  SimExecutor executor_;
  std::vector<std::unique_ptr<SimExecutor>> threads_;
  unsigned interruption_ = 0;
  trace::Counters counters_;
  std::array<RegionMemory, region_count_max> regions_{};
  std::array<RegionView, region_count_max> views_{};
  Procedures procedures_;
  std::array<Listener*, static_cast<std::size_t>(MessageKind::count)> listeners_{};
  std::unordered_map<std::uint32_t, std::unique_ptr<Link>> links_;
  std::array<std::uint64_t, static_cast<std::size_t>(MessageKind::count)> messages_sent_{};
  std::uint64_t message_bytes_sent_ = 0;
  std::uint64_t batches_served_ = 0;
  std::uint64_t arrivals_that_wake_ = 0;
  unsigned looks_ = 0;
  Port outward_;
  Port inward_;
  unsigned in_flight_ = 0;
};

}  // namespace musubi::fabric::sim
