// A message network within a process, as bad as the port allows: messages overtake each other, and are
// delivered at once or later, by a seed. Fails when more messages are in flight to a rank than it has parcels
// for.
#pragma once

#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/random.h"
#include "fabric/messages/net.h"
#include "fabric/messages/peer_session.h"
#include "os/sockets.h"

namespace musubi::fabric::conformance {

class ShuffledNet final : public MessageNet {
 public:
  // State shared by all ranks.
  struct Air {
    explicit Air(std::uint32_t ranks) : nets(ranks) {}
    std::mutex mutex;
    std::vector<ShuffledNet*> nets;  // by rank; null: gone
  };

  static constexpr std::size_t parcel_size = 512;  // small, so that lanes fill up

  ShuffledNet(std::shared_ptr<Air> air, Rank self, std::uint64_t seed)
      : air_(std::move(air)),
        self_(self),
        random_(seed),
        parcels_(std::size_t{groups_of(ranks())} * parcels_of_group),
        bytes_(parcels_.size() * parcel_size) {
    for (os::WakeupPipe& bell : bells_) bell = std::move(os::WakeupPipe::create()).value();
    const std::lock_guard lock(air_->mutex);
    air_->nets[self.value] = this;
  }
  ~ShuffledNet() override {
    const std::lock_guard lock(air_->mutex);
    air_->nets[self_.value] = nullptr;
  }

  Rank self() const noexcept override { return self_; }
  std::uint32_t ranks() const noexcept override { return static_cast<std::uint32_t>(air_->nets.size()); }
  std::size_t parcel_bytes() const noexcept override { return parcel_size; }
  std::string_view name() const noexcept override { return "shuffled"; }

  Parcel* open_group(std::uint32_t group) noexcept override {
    const std::lock_guard lock(air_->mutex);
    Parcel* const first = &parcels_[group * parcels_of_group];
    for (std::uint32_t i = 0; i < parcels_of_group; ++i) {
      Parcel& parcel = first[i];
      parcel.number = group * parcels_of_group + i;
      parcel.group = group;
      parcel.place = i;
      parcel.bytes = bytes_.data() + parcel.number * parcel_size;
      if (i >= parcels_of_way) free_.push_back(&parcel);
    }
    return first;
  }

  Sent send(Rank peer, Parcel& parcel, std::size_t bytes, Purpose) noexcept override {
    const std::lock_guard lock(air_->mutex);
    MUSUBI_CHECK(bytes <= parcel_size);
    ++sent_;
    ShuffledNet* const there = air_->nets[peer.value];
    if (there == nullptr || to_fail_ != 0) {
      to_fail_ -= to_fail_ != 0 ? 1 : 0;
      failed_.push_back(peer);
      return Sent::at_once;
    }
    MessageHead head;
    std::memcpy(static_cast<void*>(&head), parcel.bytes, sizeof head);
    const bool counts = head.form == MessageForm::room || head.form == MessageForm::bytes;
    there->arrive({std::string(reinterpret_cast<const char*>(parcel.bytes), bytes), counts});
    there->counting_ += counts ? 1 : 0;
    MUSUBI_CHECK(there->counting_ <= there->free_.size(), "%zu messages for %zu parcels", there->counting_,
                 there->free_.size());
    if (random_.below(2) == 0) return Sent::at_once;
    leaving_.push_back(&parcel);
    return Sent::later;
  }
  void give_back(Parcel& parcel) noexcept override {
    const std::lock_guard lock(air_->mutex);
    free_.push_back(&parcel);
  }

  Polled poll(ParcelReceiver& receiver) noexcept override {
    Polled polled = Polled::nothing;
    for (Parcel* const parcel : take_all(leaving_)) {
      receiver.sent(*parcel);
      polled = Polled::something;
    }
    for (unsigned i = 0; i < messages_per_poll; ++i) {
      for (Rank peer : take_all(failed_)) receiver.failed(peer);
      std::size_t bytes = 0;
      Parcel* const parcel = take_any(bytes);
      if (parcel == nullptr) return polled;
      receiver.arrived(*parcel, bytes);
      polled = Polled::something;
    }
    return Polled::more;
  }
  void sleep(Sleeper sleeper, int timeout_ms) noexcept override {
    {
      const std::lock_guard lock(air_->mutex);
      if (!inbox_.empty() || !leaving_.empty() || !failed_.empty()) return;
    }
    const os::WakeupPipe& bell = bells_[static_cast<std::size_t>(sleeper)];
    constexpr std::uint64_t for_ever_ns = 3'600'000'000'000u;
    const auto timeout_ns = static_cast<std::uint64_t>(timeout_ms) * 1'000'000u;
    if (bell.await(timeout_ms < 0 ? for_ever_ns : timeout_ns)) bell.silence();
  }
  void wake(Sleeper sleeper) noexcept override { bells_[static_cast<std::size_t>(sleeper)].ring(); }
  int rope(Sleeper sleeper) const noexcept override {
    return bells_[static_cast<std::size_t>(sleeper)].write_end();
  }

  // Number of messages that this rank has sent. Any thread.
  std::size_t sent() const {
    const std::lock_guard lock(air_->mutex);
    return sent_;
  }

  // The next messages of this rank do not arrive.
  void fail(unsigned messages) {
    const std::lock_guard lock(air_->mutex);
    to_fail_ = messages;
  }
  // Messages from anyone who knows where the rank is.
  void say(std::string_view text) {
    const std::lock_guard lock(air_->mutex);
    arrive({std::string(text), false});
  }

 private:
  static constexpr unsigned messages_per_poll = 8;

  struct Message {
    std::string text;
    bool counts;  // in flight by the rules of lanes
  };

  // REQUIRES: the air's mutex is held.
  void arrive(Message message) {
    inbox_.push_back(std::move(message));
    wake(Sleeper::waiter);
    wake(Sleeper::service);
  }
  template <typename List>
  List take_all(List& list) {
    const std::lock_guard lock(air_->mutex);
    return std::exchange(list, {});
  }
  Parcel* take_any(std::size_t& bytes) {
    const std::lock_guard lock(air_->mutex);
    if (inbox_.empty() || free_.empty()) return nullptr;
    std::swap(inbox_[random_.below(inbox_.size())], inbox_.back());
    Parcel* const parcel = free_.back();
    free_.pop_back();
    bytes = inbox_.back().text.size();
    std::memcpy(parcel->bytes, inbox_.back().text.data(), bytes);
    counting_ -= inbox_.back().counts ? 1 : 0;
    inbox_.pop_back();
    return parcel;
  }

  const std::shared_ptr<Air> air_;
  const Rank self_;
  Random random_;
  std::vector<Parcel> parcels_;
  std::vector<std::byte> bytes_;
  os::WakeupPipe bells_[2];
  // Under the air's mutex.
  std::vector<Message> inbox_;
  std::size_t counting_ = 0;  // how many of them count
  std::vector<Parcel*> free_, leaving_;
  std::vector<Rank> failed_;
  std::size_t sent_ = 0;
  unsigned to_fail_ = 0;
};

}  // namespace musubi::fabric::conformance
