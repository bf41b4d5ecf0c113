#include "simulator/fabric/sim_fabric.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <new>

#include "base/check.h"
#include "simulator/fabric/batch.h"

namespace musubi::fabric::sim {
namespace {

constexpr std::uint64_t short_interruption_events = 12;
constexpr std::uint64_t long_interruption_events = 400;

// Forbidden by fabric.h: a put sends bytes that an earlier step of the batch fetches.
bool sends_what_it_fetches(std::span<const Step> steps) noexcept {
  for (std::size_t put = 1; put < steps.size(); ++put) {
    if (steps[put].verb != Verb::put) continue;
    const auto* const from = static_cast<const std::byte*>(steps[put].local);
    for (const Step& earlier : steps.first(put)) {
      if (earlier.verb == Verb::put) continue;
      const auto* const to = static_cast<const std::byte*>(earlier.local);
      if (std::less<>()(from, to + earlier.bytes) && std::less<>()(to, from + steps[put].bytes)) return true;
    }
  }
  return false;
}

}  // namespace

struct SimFabric::Message {
  Message* next;
  MessageKind kind;
  std::uint32_t bytes;
  std::byte* body() { return reinterpret_cast<std::byte*>(this + 1); }
};

SimFabric::Link::Link(SimFabric& receiver_, Rank sender_)
    : Occurrence(receiver_.self_.value << 4 | 3), receiver(receiver_), sender(sender_) {}

// `argument`: one more than the bytes that have arrived, or 0 when it is their turn.
void SimFabric::Link::occur(std::uint64_t argument) noexcept {
  World& world = receiver.world_;
  const std::uint64_t frozen_until = receiver.executor_.frozen_until_ns();
  if (world.now_ns() < frozen_until) {
    world.after(frozen_until - world.now_ns(), *this, argument);
    return;
  }
  if (argument != 0 && sender != receiver.self_) {
    const std::uint64_t needed = receiver.network_.model().gap_ns + receiver.link_ns(argument - 1);
    const std::uint64_t end = receiver.inward_.end(world.now_ns(), needed);
    if (end != world.now_ns()) return world.after(end - world.now_ns(), *this, 0);
  }
  deliver_oldest();
}

void SimFabric::Link::deliver_oldest() noexcept {
  Message* message = first;
  first = message->next;
  if (first == nullptr) last = nullptr;
  Listener* listener = receiver.listeners_[static_cast<std::size_t>(message->kind)];
  MUSUBI_CHECK(listener != nullptr, "message of kind %u without a listener",
               static_cast<unsigned>(message->kind));
  if (sender != receiver.self_) receiver.note_arrival();
  listener->take(sender, {message->body(), message->bytes});
  frame_free(message, sizeof(Message) + message->bytes);
}

SimFabric::SimFabric(Network& network, Rank self)
    : network_(network),
      world_(network.world()),
      self_(self),
      executor_(network.world(), self.value, network.model(), network.hostility()) {}

SimFabric::~SimFabric() {
  for (auto& [sender, link] : links_) {
    while (Message* message = link->first) {
      link->first = message->next;
      frame_free(message, sizeof(Message) + message->bytes);
    }
  }
}

void SimFabric::attach(const RegionMemory& memory) {
  MUSUBI_CHECK(memory.id.value < region_count_max && memory.base != nullptr);
  regions_[memory.id.value] = memory;
  views_[memory.id.value] = {memory.base, memory.bytes};
}

std::uint64_t SimFabric::travel_ns(Rank peer, unsigned slowness) noexcept {
  const LatencyModel& model = network_.model();
  const Hostility& hostility = network_.hostility();
  const std::uint64_t latency = model.latency_between(self_.value, peer.value);
  std::uint64_t time = latency;
  if (model.jitter_ns != 0) time += world_.random().below(model.jitter_ns + 1);
  if (hostility.late != 0 && world_.random().chance(hostility.late)) {
    time += world_.random().below(latency * hostility.late_factor + 1);
  }
  return time * slowness;
}

std::uint64_t SimFabric::link_ns(std::uint64_t bytes) const noexcept {
  return bytes * network_.model().link_ns_per_256_bytes / 256;
}

void SimFabric::interrupt(unsigned per_mille) noexcept {
  Random& random = world_.random();
  if (random.below(1000) >= per_mille) return;
  // Sometimes for as long as a thread may lose its processor, so that other threads finish their work.
  world_.interrupt(1 +
                   random.below(random.chance(10) ? long_interruption_events : short_interruption_events));
}

Outcome SimFabric::post(Rank peer, std::span<const Step> steps, Event& completion) noexcept {
  touch();
  const Outcome outcome = take(peer, steps, completion);
  touch();
  return outcome;
}

Outcome SimFabric::take(Rank peer, std::span<const Step> steps, Event& completion) noexcept {
  MUSUBI_CHECK(peer.value < network_.ranks());
  SimFabric& target = network_.node(peer);
  for (const Step& step : steps) {
    if (step.verb == Verb::call) {
      MUSUBI_CHECK(target.procedures_.find(step.offset) != nullptr &&
                       step.operand <= call_argument_bytes_max && step.bytes <= call_result_bytes_max,
                   "a call of procedure %lu, %lu bytes of arguments", step.offset, step.operand);
      continue;
    }
    MUSUBI_CHECK(step.region.value < region_count_max, "no region %u", step.region.value);
    const RegionMemory& region = target.regions_[step.region.value];
    MUSUBI_CHECK(step.offset <= region.bytes && step.bytes <= region.bytes - step.offset,
                 "step outside region %u: offset %lu, %zu bytes", step.region.value, step.offset, step.bytes);
    MUSUBI_CHECK(!is_atomic(step.verb) || (step.offset % 8 == 0 && step.bytes == 8));
  }
  MUSUBI_CHECK(!sends_what_it_fetches(steps), "a step uses what an earlier one of its batch has fetched");
  const Hostility& hostility = network_.hostility();
  Random& random = world_.random();
  const bool full = hostility.operations_max != 0 && in_flight_ >= hostility.operations_max;
  if (full || (hostility.busy != 0 && random.chance(hostility.busy))) {
    world_.reached("fabric.busy");
    return Outcome::busy;
  }
  if (peer != self_) {
    ++target.batches_served_;
    counters_.add(trace::Counter::remote_operations);
  }
  const bool at_once = peer == self_ ? hostility.self_delayed == 0 || !random.chance(hostility.self_delayed)
                                     : hostility.at_once != 0 && random.chance(hostility.at_once);
  if (at_once) {
    Operation(*this, target, steps, &completion).run_at_once();
    if (hostility.at_once == 0 || random.chance(70)) return Outcome::done;
    completion.set();
    return Outcome::pending;
  }
  ++in_flight_;
  Operation* operation = Operation::create(*this, target, steps, &completion);
  std::uint64_t delay = 0;
  if (peer == self_) {
    delay = 1 + random.below(network_.model().latency_ns + 1);
  } else {
    const std::uint64_t needed = network_.model().gap_ns + link_ns(bytes_out(steps));
    delay = outward_.begin(world_.now_ns(), needed) - world_.now_ns() + travel_ns(peer, executor_.slowness());
  }
  world_.after(delay, *operation, at_target);
  return Outcome::pending;
}

SimFabric::Link& SimFabric::link_from(Rank sender) {
  std::unique_ptr<Link>& link = links_[sender.value];
  if (link == nullptr) link = std::make_unique<Link>(*this, sender);
  return *link;
}

Outcome SimFabric::send(Rank peer, MessageKind kind, Urgency, std::span<const std::byte> body) noexcept {
  MUSUBI_CHECK(peer.value < network_.ranks() && body.size() <= message_bytes_max);
  touch();
  if (network_.hostility().busy != 0 && world_.random().chance(network_.hostility().busy))
    return Outcome::busy;
  std::uint64_t departure = world_.now_ns();
  if (peer != self_) {
    counters_.add(trace::Counter::messages);
    ++messages_sent_[static_cast<std::size_t>(kind)];
    message_bytes_sent_ += body.size();
    departure = outward_.begin(departure, network_.model().gap_ns + link_ns(body.size()));
  }
  auto* message = static_cast<Message*>(frame_allocate(sizeof(Message) + body.size()));
  *message = Message{nullptr, kind, static_cast<std::uint32_t>(body.size())};
  if (!body.empty()) std::memcpy(message->body(), body.data(), body.size());
  Link& link = network_.node(peer).link_from(self_);
  (link.last != nullptr ? link.last->next : link.first) = message;
  link.last = message;
  const std::uint64_t arrival = std::max(link.last_arrival_ns, departure + travel_ns(peer, 1));
  link.last_arrival_ns = arrival;
  world_.after(arrival - world_.now_ns(), link, body.size() + 1);
  return Outcome::done;
}

void SimFabric::listen(MessageKind kind, Listener* listener) noexcept {
  listeners_[static_cast<std::size_t>(kind)] = listener;
}

void SimFabric::wait(const std::atomic<bool>&) noexcept {
  MUSUBI_CHECK(false, "nothing waits in virtual time");
}
void SimFabric::wait_for_service() noexcept {
  MUSUBI_CHECK(false, "nothing waits in virtual time");
}

std::byte* SimFabric::direct(Rank peer, RegionId region) noexcept {
  if (!is_near(peer)) return nullptr;
  MUSUBI_CHECK(peer.value < network_.ranks() && region.value < region_count_max);
  return network_.node(peer).regions_[region.value].base;
}

Network::Network(World& world, std::uint32_t ranks, const LatencyModel& model, const Hostility& hostility)
    : world_(world), model_(model), hostility_(hostility) {
  nodes_.reserve(ranks);
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    nodes_.push_back(std::make_unique<SimFabric>(*this, Rank{rank}));
  }
}

Network::~Network() = default;

void Network::become_calm() noexcept {
  hostility_ = Hostility::calm();
  for (auto& node : nodes_) node->executor().thaw();
}

}  // namespace musubi::fabric::sim
