#include "fabric/active_messages/engine.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "fabric/active_messages/answers.h"
#include "fabric/active_messages/wire.h"
#include "os/clock.h"

namespace musubi::fabric {
namespace {

// Rounds of receiving in one progress(): a steady stream must not keep a thread forever.
constexpr unsigned rounds_max = 16;
constexpr std::size_t own_messages_max = 256;

std::array<RegionView, region_count_max> views_of(std::span<const RegionMemory> regions) noexcept {
  std::array<RegionView, region_count_max> views{};
  for (const RegionMemory& region : regions) {
    MUSUBI_CHECK(region.id.value < region_count_max && views[region.id.value].base == nullptr,
                 "region %u is out of range or given twice", unsigned{region.id.value});
    views[region.id.value] = {region.base, region.bytes};
  }
  return views;
}

constexpr std::size_t moves_max = 256;

}  // namespace

ActiveMessages::ActiveMessages(Transport& transport, std::span<const RegionMemory> regions,
                               trace::Counters& counters, WaitingPolicy policy, PeerWatcher* watcher,
                               Outbox::Limits limits, Distance distance, Hooks hooks)
    : transport_(transport),
      self_(transport.self()),
      counters_(counters),
      watcher_(watcher),
      hooks_(hooks),
      regions_(views_of(regions)),
      outbox_(transport, limits, hooks),
      meter_(distance),
      answers_(outbox_, transport.ranks(), counters, meter_, hooks),
      moves_(transport, counters),
      server_(transport, {self_, regions_, procedures_}),
      sleepers_(transport, policy),
      own_messages_(own_messages_max, driver_message_bytes_max) {}

Outcome ActiveMessages::post(Rank peer, std::span<const Step> steps, Event& completion) noexcept {
  MUSUBI_CHECK(peer.value < ranks(), "no rank %u", peer.value);
  if (steps.empty()) return Outcome::done;
  if (peer == self_) {
    perform({self_, regions_, procedures_}, self_, steps);
    return Outcome::done;
  }
  std::uint64_t sent = 0;
  for (const Step& step : steps) {  // regions and procedures are the same at the peer
    const char* const objection = objection_to(regions_, procedures_, step);
    MUSUBI_CHECK(objection == nullptr, "region %u [%llu, +%zu): %s", unsigned{step.region.value},
                 static_cast<unsigned long long>(step.offset), step.bytes, objection);
    sent += wire::payload_of(step).size();
  }
  const Outcome outcome =
      moves_.begin(peer, steps, completion) ? Outcome::pending : outbox_.post(peer, steps, completion);
  if (outcome != Outcome::busy) {
    counters_.add(trace::Counter::remote_operations);
    counters_.add(trace::Counter::far_operations);
    count_bytes(counters_, sent);  // Answers counts the results
  }
  return outcome;
}

Outcome ActiveMessages::send(Rank peer, MessageKind kind, Urgency urgency,
                             std::span<const std::byte> body) noexcept {
  MUSUBI_CHECK(peer.value < ranks(), "no rank %u", peer.value);
  MUSUBI_CHECK(kind < MessageKind::count);
  if (peer == self_) return send_to_self(kind, urgency, body);
  // Every request that finds no thread polling wakes the peer's service thread, so `urgency` is not sent.
  const Outcome outcome = outbox_.send(peer, kind, body);
  if (outcome == Outcome::done) {
    counters_.add(trace::Counter::messages);
    counters_.add(trace::Counter::far_messages);
  }
  return outcome;
}

// The message waits for a polling thread, like any other: the caller may be a listener.
Outcome ActiveMessages::send_to_self(MessageKind kind, Urgency urgency,
                                     std::span<const std::byte> body) noexcept {
  MUSUBI_CHECK(body.size() <= driver_message_bytes_max, "a message of %zu bytes", body.size());
  Entry* const entry = own_messages_.take();
  if (entry == nullptr) {
    sleepers_.call(true);
    return Outcome::busy;
  }
  entry->kind = kind;
  entry->count = static_cast<std::uint32_t>(body.size());
  if (!body.empty()) std::memcpy(entry->body, body.data(), body.size());
  own_lock_.lock();
  own_waiting_.push(entry);
  own_lock_.unlock();
  sleepers_.call(urgency == Urgency::promptly);
  return Outcome::done;
}

void ActiveMessages::listen(MessageKind kind, Listener* listener) noexcept {
  MUSUBI_CHECK(kind < MessageKind::count);
  server_.listen(kind, listener);
}

// A thread that finds another thread receiving, and may not poll again, leaves its arrivals to it: it sets
// `look_again_`, then retries once; the other thread clears `receiving_`, then reads `look_again_`.
bool ActiveMessages::progress(Caller caller) noexcept {
  bool any = outbox_.flush();
  for (unsigned round = 0;; ++round) {
    if (receiving_.exchange(true)) {
      if (caller == Caller::polls_again) return any;
      look_again_.store(true);
      if (receiving_.exchange(true)) return any;
    }
    look_again_.store(false);
    hooks_.others_may_act();
    any = receive() || any;
    hooks_.others_may_act();
    receiving_.store(false);
    hooks_.others_may_act();
    if (!look_again_.load()) return any;
    if (round == rounds_max) {
      transport_.wake(Sleeper::service);
      return any;
    }
  }
}

// REQUIRES: receiving_ is held.
bool ActiveMessages::receive() noexcept {
  bool any = deliver_own();
  for (unsigned round = 0; round < rounds_max; ++round) {
    const Polled polled = transport_.poll(*this);
    if (polled != Polled::nothing) any = true;
    if (polled != Polled::more) return any;
  }
  transport_.wake(Sleeper::service);  // nothing else ends a sleep for the rest
  return any;
}

bool ActiveMessages::deliver_own() noexcept {
  bool any = false;
  for (std::size_t i = 0; i < own_messages_max; ++i) {
    own_lock_.lock();
    Entry* const entry = own_waiting_.pop();
    own_lock_.unlock();
    if (entry == nullptr) break;
    const char* const objection = server_.deliver(self_, entry->kind, {entry->body, entry->count});
    MUSUBI_CHECK(objection == nullptr, "a message to oneself: %s", objection);
    own_messages_.give_back(entry);
    any = true;
  }
  return any;
}

void ActiveMessages::wait(const std::atomic<bool>& ready) noexcept {
  const bool slept = sleepers_.wait(ready, [this] { return progress(Caller::polls_again); });
  if (slept) progress();
}

std::byte* ActiveMessages::direct(Rank peer, RegionId region) noexcept {
  MUSUBI_CHECK(peer.value < ranks() && region.value < region_count_max);
  return peer == self_ ? regions_[region.value].base : nullptr;
}

bool ActiveMessages::watch(std::atomic_ref<std::uint64_t> word, std::uint64_t unwanted) noexcept {
  const auto differs = [&] { return word.load(std::memory_order_acquire) != unwanted; };
  if (differs()) return true;
  const std::uint64_t begin = os::monotonic_ns();
  const bool seen = sleepers_.watch(differs);
  counters_.add(trace::Counter::waiting_ns, os::monotonic_ns() - begin);
  return seen;
}

std::size_t ActiveMessages::places(Rank from, Lane lane, std::span<Place, places_max> places) noexcept {
  return lane == Lane::requests ? server_.places(from, places) : answers_.places(from, places);
}

void ActiveMessages::received(Rank from, Lane lane, std::size_t bytes) noexcept {
  const char* const objection =
      lane == Lane::requests ? server_.received(from, bytes) : answers_.received(from, bytes);
  if (objection != nullptr) refuse(from, objection);
}

void ActiveMessages::writable(Rank peer, Lane lane) noexcept {
  if (lane == Lane::requests) {
    outbox_.writable(peer);
  } else if (const char* const objection = server_.writable(peer)) {
    refuse(peer, objection);
  }
}

void ActiveMessages::lost(Rank peer, Loss loss) noexcept {
  outbox_.drop(peer);
  if (watcher_ != nullptr) watcher_->peer_failed(peer, loss);
}

void ActiveMessages::refuse(Rank peer, const char* objection) noexcept {
  transport_.close(peer);
  outbox_.drop(peer);
  if (watcher_ != nullptr) watcher_->peer_failed(peer, {Loss::Kind::refused, objection});
}

Moves::Moves(Transport& transport, trace::Counters& counters)
    : transport_(transport),
      counters_(counters),
      bytes_min_(transport.move_bytes_min()),
      under_way_(moves_max, 0) {}

bool Moves::begin(Rank peer, std::span<const Step> steps, Event& completion) noexcept {
  const Step& step = steps.front();
  const bool can_move = step.verb == Verb::get || step.verb == Verb::put;
  if (steps.size() != 1 || !can_move || step.bytes < bytes_min_ || step.after != no_verdict) return false;
  Entry* const entry = under_way_.take();
  if (entry == nullptr) return false;
  entry->steps = &step;
  entry->completion = &completion;
  entry->sent_ns = os::monotonic_ns();
  if (transport_.begin_move(peer, step, entry)) return true;
  under_way_.give_back(entry);
  return false;
}

void Moves::end(void* token) noexcept {
  auto* const entry = static_cast<Entry*>(token);
  const std::size_t bytes = entry->steps->bytes;
  if (entry->steps->verb == Verb::get) count_bytes(counters_, bytes);  // post() has counted puts
  counters_.add(trace::Counter::rma_operations);
  counters_.add(trace::Counter::rma_bytes, bytes);
  const std::uint64_t now_ns = os::monotonic_ns();
  counters_.add(trace::Counter::far_trip_ns, now_ns - std::min(now_ns, entry->sent_ns));
  Event* const completion = entry->completion;
  under_way_.give_back(entry);
  completion->set();
}

}  // namespace musubi::fabric
