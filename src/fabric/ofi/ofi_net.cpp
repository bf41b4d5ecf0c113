#include "fabric/ofi/ofi_net.h"

#include <rdma/fi_cm.h>
#include <rdma/fi_errno.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>

#include "os/clock.h"
#include "os/signal_calls.h"

namespace musubi::fabric::ofi {
namespace {

constexpr std::size_t parcel_bytes_max = 16384;  // ofi_rxm sends larger messages by a rendezvous
constexpr std::size_t entries_per_look = 16;
constexpr unsigned looks_per_poll = 4;
constexpr std::size_t peers_per_word = 64;
constexpr std::uint32_t short_naps = 64;
constexpr std::uint64_t short_nap_ns = 50'000, idle_nap_ns = 1'000'000;
// ofi_rxm tries for ever to reconnect a peer.
constexpr std::uint64_t probe_patience_ns = 3'000'000'000;
constexpr std::uint64_t call_max_ns = 1'000'000;
constexpr int retry_ms = 1;  // the library may not signal when to retry

}  // namespace

void OfiNet::Waiting::push(Slot& slot) noexcept {
  lock.lock();
  slot.next = first;
  first = &slot;
  count.fetch_add(1);
  lock.unlock();
}

OfiNet::Slot* OfiNet::Waiting::take_all() noexcept {
  if (count.load() == 0) return nullptr;
  lock.lock();
  count.store(0);
  Slot* const all = std::exchange(first, nullptr);
  lock.unlock();
  return all;
}

OfiNet::OfiNet(const Library& library, Info info, Rank self, std::uint32_t ranks,
               std::chrono::milliseconds patience, std::size_t rma_bytes_min)
    : library_(library),
      info_(std::move(info)),
      self_(self),
      ranks_(ranks),
      patience_ns_(static_cast<std::uint64_t>(std::chrono::nanoseconds(patience).count())),
      name_(info_->fabric_attr->prov_name),
      registered_(groups_of(ranks)),
      peers_(ranks, FI_ADDR_UNSPEC),
      remote_(calls_, *info_, ranks, rma_bytes_min),
      failed_((ranks + peers_per_word - 1) / peers_per_word) {}

OfiNet::~OfiNet() {
  const os::SignalsKept kept;
  library_.enter();
  endpoint_.reset();
  remote_.close();
  for (auto& each : registered_) Owned<fid_mr>(each.load()).reset();
}

std::size_t OfiNet::parcel_bytes() const noexcept {
  return std::min(parcel_bytes_max, info_->ep_attr->max_msg_size);
}

// Either the endpoint takes the message now, or it waits, or the peer is gone.
MessageNet::Sent OfiNet::send(Rank peer, Parcel& parcel, std::size_t bytes, Purpose purpose) noexcept {
  library_.enter();
  Slot& slot = slots()[parcel.number];
  slot.peer = peer.value;
  slot.bytes = static_cast<std::uint32_t>(bytes);
  if (purpose == Purpose::plain && inject(slot)) return Sent::at_once;
  const long status = try_send(slot);
  if (status == 0) return Sent::later;
  if (status != -FI_EAGAIN) {
    note_failure(peer.value);
    wake(Sleeper::service);
    return Sent::at_once;
  }
  slot.gives_up_ns = os::monotonic_ns() + (purpose == Purpose::probing ? probe_patience_ns : patience_ns_);
  to_send_.push(slot);
  if (to_send_.count.load() == 1) wake(Sleeper::service);  // from now on it sleeps for a short time only
  return Sent::later;
}

// Sends a small message, which neither needs its parcel any longer nor produces a completion.
bool OfiNet::inject(const Slot& slot) noexcept {
  if (slot.bytes > info_->tx_attr->inject_size) return false;
  calls_.lock();
  const long status =
      endpoint_->msg->inject(endpoint_.get(), slot.parcel->bytes, slot.bytes, peers_[slot.peer]);
  calls_.unlock();
  return status == 0;
}

long OfiNet::try_send(Slot& slot) noexcept {
  calls_.lock();
  const long status = endpoint_->msg->send(endpoint_.get(), slot.parcel->bytes, slot.bytes, slot.descriptor,
                                           peers_[slot.peer], &slot.context);
  calls_.unlock();
  return status;
}

long OfiNet::read(std::span<fi_cq_msg_entry> entries) noexcept {
  calls_.lock();
  const long count = queue_->ops->read(queue_.get(), entries.data(), entries.size());
  calls_.unlock();
  return count;
}

void OfiNet::post(Slot& slot) noexcept {
  calls_.lock();
  const long status = endpoint_->msg->recv(endpoint_.get(), slot.parcel->bytes, parcel_bytes(),
                                           slot.descriptor, FI_ADDR_UNSPEC, &slot.context);
  calls_.unlock();
  if (status != 0) to_post_.push(slot);
}

void OfiNet::send_waiting(ParcelReceiver& receiver) noexcept {
  Slot* next = nullptr;
  for (Slot* slot = to_send_.take_all(); slot != nullptr; slot = next) {
    next = slot->next;
    const long status = try_send(*slot);
    if (status == 0) continue;
    if (status == -FI_EAGAIN && os::monotonic_ns() < slot->gives_up_ns) {
      to_send_.push(*slot);
      continue;
    }
    note_failure(slot->peer);
    receiver.sent(*slot->parcel);
  }
}

void OfiNet::post_waiting() noexcept {
  Slot* next = nullptr;
  for (Slot* slot = to_post_.take_all(); slot != nullptr; slot = next) {
    next = slot->next;
    post(*slot);
  }
}

bool OfiNet::is_to_send(const Slot& slot) noexcept {
  return slot.parcel->place < parcels_of_way;
}

Polled OfiNet::poll(ParcelReceiver& receiver) noexcept {
  library_.enter();
  polling_.store(true);
  polls_.fetch_add(1);
  const Polled polled = poll_some(receiver);
  polling_.store(false);
  for (const Sleeper sleeper : {Sleeper::waiter, Sleeper::service}) {
    std::atomic<bool>& leaves = leaves_to_poll_[index(sleeper)];
    if (leaves.load() && leaves.exchange(false)) wake(sleeper);
  }
  return polled;
}

Polled OfiNet::poll_some(ParcelReceiver& receiver) noexcept {
  Polled polled = Polled::nothing;
  for (unsigned look = 0; look < looks_per_poll; ++look) {
    std::array<fi_cq_msg_entry, entries_per_look> entries;
    const long count = read(entries);
    if (count == -FI_EAVAIL && take_error(receiver)) {
      polled = Polled::more;
      continue;
    }
    for (long i = 0; i < count; ++i) {
      const fi_cq_msg_entry& entry = entries[static_cast<std::size_t>(i)];
      ended(*static_cast<Operation*>(entry.op_context), entry.len, receiver);
    }
    if (count > 0) polled = Polled::something;
    if (count < static_cast<long>(entries.size())) break;
    if (look + 1 == looks_per_poll) polled = Polled::more;
  }
  if (to_send_.count.load() != 0) send_waiting(receiver);
  if (to_post_.count.load() != 0) post_waiting();
  if (any_failed_.load()) report_failures(receiver);
  if (service_is_blind_.load() && waiters_.load() == 0) watch_again();
  if (polled != Polled::nothing) idle_naps_.store(0);
  return polled;
}

void OfiNet::ended(Operation& operation, std::size_t bytes, ParcelReceiver& receiver) noexcept {
  if (operation.is_move) return receiver.has_moved(remote_.end(operation));
  auto& slot = static_cast<Slot&>(operation);
  if (is_to_send(slot)) {
    receiver.sent(*slot.parcel);
  } else {
    receiver.arrived(*slot.parcel, bytes);
  }
}

// Result: whether there was one. A failed move never completes, because its peer is gone.
bool OfiNet::take_error(ParcelReceiver& receiver) noexcept {
  fi_cq_err_entry entry{};
  calls_.lock();
  const long count = queue_->ops->readerr(queue_.get(), &entry, 0);
  calls_.unlock();
  if (count != 1 || entry.op_context == nullptr) return false;
  auto& operation = *static_cast<Operation*>(entry.op_context);
  if (operation.is_move) {
    note_failure(operation.peer);
    remote_.end(operation);
    return true;
  }
  auto& slot = static_cast<Slot&>(operation);
  if (is_to_send(slot)) {
    note_failure(slot.peer);
    receiver.sent(*slot.parcel);
    return true;
  }
  if (entry.err == FI_ETRUNC) receiver.refused("it is longer than any message of Musubi");
  post(slot);
  return true;
}

void OfiNet::note_failure(std::uint32_t peer) noexcept {
  failed_[peer / peers_per_word].fetch_or(std::uint64_t{1} << peer % peers_per_word);
  any_failed_.store(true);
}

void OfiNet::report_failures(ParcelReceiver& receiver) noexcept {
  any_failed_.store(false);
  for (std::size_t word = 0; word < failed_.size(); ++word) {
    for (std::uint64_t peers = failed_[word].exchange(0); peers != 0; peers &= peers - 1) {
      const std::size_t peer = word * peers_per_word + static_cast<std::size_t>(std::countr_zero(peers));
      receiver.failed(Rank{static_cast<std::uint32_t>(peer)});
    }
  }
}

// Whether the queue is empty; its descriptor then becomes ready on the next arrival.
bool OfiNet::queue_is_quiet() noexcept {
  fid* const queue = &queue_->fid;
  fid* queues[] = {queue};
  calls_.lock();
  const int status = fabric_->ops->trywait(fabric_.get(), queues, 1);
  calls_.unlock();
  return status == 0;
}

// This thread receives arrivals. If it could not, another thread is about to do so and may have lost its
// processor: instead of polling repeatedly, this thread sleeps until that thread wakes it.
OfiNet::Sleep OfiNet::kind_of_sleep(Sleeper sleeper) noexcept {
  // While the service thread is blind, watch_again() polls for it.
  const bool is_blind = sleeper == Sleeper::service && service_is_blind_.load();
  if (is_blind || queue_is_quiet()) return Sleep::until_something_comes;
  const std::size_t i = index(sleeper);
  leaves_to_poll_[i].store(true);
  const std::uint64_t polls = polls_.load();
  if (polling_.load() || sent_to_poll_[i] == polls) return Sleep::until_called;
  leaves_to_poll_[i].store(false);
  sent_to_poll_[i] = polls;
  return Sleep::none;
}

void OfiNet::sleep(Sleeper sleeper, int timeout_ms) noexcept {
  if (queue_number_ < 0) return nap(sleeper);
  library_.enter();
  const bool is_waiter = sleeper == Sleeper::waiter;
  if (is_waiter) {
    waiters_.store(1);
    if (!service_is_blind_.exchange(true))
      sets_[index(Sleeper::service)].change(queue_number_, 0, queue_data);
  }
  if (to_send_.count.load() != 0 || to_post_.count.load() != 0) timeout_ms = retry_ms;
  const Sleep kind = kind_of_sleep(sleeper);
  const os::WakeupPipe& bell = bells_[index(sleeper)];
  if (kind == Sleep::until_called) {
    if (bell.await(call_max_ns)) bell.silence();
  } else if (kind == Sleep::until_something_comes) {
    std::array<epoll_event, 2> events;
    const std::size_t ready = sets_[index(sleeper)].sleep(events, timeout_ms);
    for (std::size_t i = 0; i < ready; ++i) {
      if (events[i].data.u64 == bell_data) bell.silence();
    }
  }
  if (is_waiter) waiters_.store(0);
}

// In this order, so that under any race with a waiter that goes to sleep the service thread either watches or
// is marked blind.
void OfiNet::watch_again() noexcept {
  service_is_blind_.store(false);
  sets_[index(Sleeper::service)].change(queue_number_, EPOLLIN, queue_data);
  if (!queue_is_quiet()) wake(Sleeper::service);
}

// Naps are short while messages arrive.
void OfiNet::nap(Sleeper sleeper) noexcept {
  const os::WakeupPipe& bell = bells_[index(sleeper)];
  const bool is_idle = idle_naps_.load() >= short_naps;
  if (!is_idle) idle_naps_.fetch_add(1);
  if (bell.await(is_idle ? idle_nap_ns : short_nap_ns)) bell.silence();
}

}  // namespace musubi::fabric::ofi
