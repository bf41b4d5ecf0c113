// The news of a signature that come with the grant of a lock. A rank that joins the queue tells the rank
// before it which stamp of that one's signature it has acquired. The holder carries out for it, when it hands
// the lock over, the call that it would make then (signature_since.h), and sends the answer along.
//
// What a rank has told stays true: it never gives up what it has acquired. So a word of an earlier time, or
// of another task of the same rank, makes an answer longer, not wrong.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "fabric/calls.h"
#include "remote_lock/queue_lock.h"
#include "sync/signature_reader.h"
#include "sync/signature_since.h"

namespace musubi::sync {

// For each rank a word in the control region of each other one: a stamp of that one's signature.
class ToldStamps {
 public:
  // They lie at `offset`.
  explicit ToldStamps(std::uint64_t offset) : offset_(offset) {}
  std::uint64_t at(Rank rank) const { return offset_ + rank.value * sizeof(std::uint64_t); }

 private:
  std::uint64_t offset_;
};

// PORT requests for releases: the background of a rank answers them.
class ReleaseRequests {
 public:
  // Asks `peer`, and waits for nothing.
  virtual Task<> request_release(Rank peer) = 0;

 protected:
  ~ReleaseRequests() = default;
};

// Of a rank that takes a lock: tells the stamp, and takes the answer in.
class NewsAlong final : public remote_lock::Along {
 public:
  // `look` and `requests` live as long.
  NewsAlong(SignatureReader::Look& look, const ToldStamps& told, Rank self, ReleaseRequests* requests)
      : look_(look), place_(told.at(self)), requests_(requests) {}

  std::optional<fabric::Step> step_before(Rank holder) noexcept override;
  std::span<const fabric::Step> steps_for(Rank holder) noexcept override { return look_.steps_for(holder); }
  std::span<std::byte> gift_room() noexcept override { return look_.answer_room(); }
  Task<> ask(Rank keeper) override;

 private:
  SignatureReader::Look& look_;
  const std::uint64_t place_;
  ReleaseRequests* const requests_;
  std::uint64_t stamp_ = 0;
};

// Of a rank that hands one over. It gives nothing where the news do not fit into the message, or its
// signature is changing just now: then the taker asks. Any number of threads.
class NewsGift final : public remote_lock::Gift {
 public:
  // `control`: the own control region.
  NewsGift(std::span<std::byte> control, const SignaturePlace& place, const ToldStamps& told, Rank self,
           std::uint32_t ranks);

  std::size_t give(Rank next, std::span<std::byte> room) noexcept override;

 private:
  std::array<fabric::RegionView, fabric::region_count_max> regions_{};
  const SignaturePlace place_;
  const ToldStamps told_;
  const Rank self_;
  const std::uint32_t ranks_;
};

}  // namespace musubi::sync
