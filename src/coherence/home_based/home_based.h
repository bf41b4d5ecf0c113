// The policy `home_based`: fixed homes, and the leases, notices and logical time of `migrating` (coherence.md
// section 11). It suits data that one rank writes and many read in parts: only changes move, and a block
// never leaves the rank that allocated it. It knows no plain flags.
//
// The home's word BlockWords::read_ts holds the latest time of a lease or a version, and whether a rank may
// hold a lease on the present version; BlockWords::version counts the versions.
#pragma once

#include <atomic>
#include <cstdint>

#include "coherence/core/signature.h"
#include "coherence/home_based/fixed_home.h"
#include "coherence/store/lease_queue.h"

namespace musubi::coherence {

class HomeBased final : public FixedHome {
 public:
  // As Migrating.
  HomeBased(const vm::Space& space, fabric::Fabric& fabric, vm::Vm& vm, trace::Counters& counters,
            remote_lock::Grants& grants, const RankMemory& memory, const Parameters& parameters,
            const PrivateParts* private_parts);

  Task<> acquire(SignatureView signature, Audience audience, Scope scope) override;
  std::uint64_t signature(SignatureSink& sink) override;
  void forget(std::uint64_t mark) override { signature_.forget(mark); }
  LogicalTime clock() const override { return LogicalTime{clock_.load()}; }
  Task<> acquire_clock(LogicalTime time) override;

 private:
  Task<bool> bring(Block& b, std::byte* target) override;
  Task<bool> bring_nothing(Block& b) override;
  Task<> publish(Block& b, Puts& puts) override;
  bool takes_packets() const override { return true; }
  void note_published(Block& b, const PublishedAtHome& before) override;
  void publish_at_home(Block& b);
  void announce(const Block& b, LogicalTime time);
  Task<bool> apply(Notice notice);
  Task<> expire_until(LogicalTime time);
  Task<bool> expire(BlockId id);
  void watch_lease(const Block& b);

  const PacketSide packet_side_;
  Signature& signature_;
  LeaseQueue leases_;
  std::atomic<std::uint64_t> acquired_{0};  // no copy is held whose lease ended before
  std::atomic<std::uint64_t> expired_{0};   // acquired_, once every copy that had to go is gone
  std::atomic<std::uint64_t> clock_{0};
};

}  // namespace musubi::coherence
