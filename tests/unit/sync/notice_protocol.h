// Replaces the real protocol in tests, in virtual time, of the parts that carry signatures: there are no
// bytes, only notices.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "coherence/core/signature.h"
#include "coherence/no_ordering.h"
#include "coherence/protocol.h"
#include "simulator/fabric/sim_executor.h"

namespace musubi::sync {

// Releases the blocks that the test names as written; acquired notices enter its own signature.
class NoticeProtocol final : public coherence::Protocol {
 public:
  // The board of the signature: signature_bytes(notices_max) zero bytes.
  NoticeProtocol(Rank self, std::byte* board, std::size_t notices_max)
      : self_(self), signature_(board, notices_max) {}

  void write(std::uint64_t block, std::uint64_t time) {
    written_.push_back({BlockId{block}, LogicalTime{time}, LogicalTime{time}, self_});
  }
  // The newest time of the block that this rank has released or acquired; 0: none.
  std::uint64_t knows(std::uint64_t block) const {
    for (const coherence::Notice& notice : signature_.view().notices) {
      if (notice.block == BlockId{block}) return notice.write_ts.value;
    }
    return 0;
  }

  Task<bool> fault(BlockId, vm::Access) override { co_return true; }
  Task<> release(coherence::Scope, bool quiescent) override {
    EXPECT_FALSE(quiescent);
    co_await fabric::sim::think(release_ns);
    for (const coherence::Notice& notice : written_) signature_.add(notice);
    written_.clear();
    ++releases;
  }
  Task<> acquire(coherence::SignatureView signature, coherence::Audience audience,
                 coherence::Scope) override {
    EXPECT_EQ(audience, coherence::Audience::unknown);
    signature_.add_all(signature);
    ++acquires;
    co_return;
  }
  std::uint64_t signature(coherence::SignatureSink&) override { return 0; }
  void forget(std::uint64_t) override {}
  LogicalTime clock() const override { return {}; }
  Task<> acquire_clock(LogicalTime) override { co_return; }
  Task<> modify(BlockId, coherence::Modification&) override { co_return; }
  void pin(BlockId, std::uint64_t) override {}
  void note_stack(std::size_t, std::uintptr_t, std::uintptr_t) override {}
  void adopt(BlockId, std::uint64_t) override {}
  coherence::Ordering& ordering() override { return ordering_; }

  std::uint64_t release_ns = 0;  // how long a release takes
  unsigned releases = 0;         // that have ended
  unsigned acquires = 0;

 private:
  Rank self_;
  coherence::Signature signature_;
  std::vector<coherence::Notice> written_;
  coherence::NoOrdering ordering_{*this};
};

}  // namespace musubi::sync
