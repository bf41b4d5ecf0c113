// Notices of a signature, piggy-backed on the grant of a lock. A rank that joins the queue tells the rank
// before it which stamp of that rank's signature it has acquired. When the holder hands the lock over, it
// makes the call that the next rank would make then (signature_since), and sends the answer with the grant.
//
// A told stamp stays valid, because a rank never gives up acquired changes. An outdated word, or one of
// another task of the same rank, only makes an answer longer.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "fabric/calls.h"
#include "remote_lock/queue_lock.h"
#include "sync/signature_reader.h"

namespace musubi::sync {

// For each rank, a word in the control region of every other rank: a stamp of the latter's signature.
class ToldStamps {
 public:
  // The words are at `offset`.
  explicit ToldStamps(std::uint64_t offset) : offset_(offset) {}
  std::uint64_t at(Rank rank) const { return offset_ + rank.value * sizeof(std::uint64_t); }

 private:
  std::uint64_t offset_;
};

// PORT requests for releases: the background of a rank answers them.
class ReleaseRequests {
 public:
  // Sends a request to `peer` without waiting for the answer.
  virtual Task<> request_release(Rank peer) = 0;

 protected:
  ~ReleaseRequests() = default;
};

// For a rank that takes a lock: tells the stamp, and receives the answer.
class NewsPiggyback final : public remote_lock::Piggyback {
 public:
  // `look` and `requests` outlive this object.
  NewsPiggyback(SignatureReader::Look& look, const ToldStamps& told, Rank self, ReleaseRequests* requests)
      : look_(look), place_(told.at(self)), requests_(requests) {}

  std::optional<fabric::Step> step_before(Rank holder) noexcept override;
  std::span<const fabric::Step> steps_for(Rank holder) noexcept override { return look_.steps_for(holder); }
  std::span<std::byte> payload_room() noexcept override { return look_.answer_room(); }
  Task<> ask(Rank keeper) override;

 private:
  SignatureReader::Look& look_;
  const std::uint64_t place_;
  ReleaseRequests* const requests_;
  std::uint64_t stamp_ = 0;
};

// For a rank that hands a lock over. Gives nothing if the notices exceed the message, or the signature is
// changing at the moment: then the next holder asks. Any number of threads.
class NewsPayload final : public remote_lock::GrantPayload {
 public:
  // `control`: this rank's control region.
  NewsPayload(std::span<std::byte> control, const SignaturePlace& place, const ToldStamps& told, Rank self,
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
