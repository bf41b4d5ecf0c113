// The message listeners of a job's rank, on any fabric, for tests that feed them arbitrary bytes.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "fabric/fabric.h"
#include "notice_protocol.h"
#include "remote_lock/queue_lock.h"
#include "runtime/job/job_ending.h"
#include "runtime/job/job_messages.h"
#include "runtime/job/remote_call_service.h"
#include "runtime/threads/request_bell.h"
#include "sync/barrier.h"
#include "sync/collectives.h"

namespace musubi::fabric::conformance {

class RealListeners final : private runtime::Messages::HeapListener,
                            private runtime::Procedure,
                            private sync::Collectives::MismatchListener {
 public:
  static constexpr std::size_t notices_max = 64;
  static constexpr std::uint64_t blocks_max = 1000;
  static constexpr runtime::ProcedureId served{3};
  static constexpr remote_lock::LockKey awaited_lock = remote_lock::LockKey::of_user_lock(5);
  static constexpr std::size_t gift_bytes_max = 100;

  explicit RealListeners(Fabric& fabric)
      : signature_(coherence::signature_bytes(notices_max)),
        board_(sync::Barrier::board_bytes(fabric.ranks(), notices_max)),
        protocol_(fabric.self(), signature_.data(), notices_max),
        barrier_(fabric, protocol_, counters_, board_.data(), 0, notices_max, blocks_max),
        collectives_(fabric),
        heap_(fabric),
        calls_(fabric, counters_, [] {}),
        departure_(fabric),
        bell_(fabric, board_.data(), 0) {
    fabric.listen(MessageKind::lock_granted, &grants_);
    collectives_.set_mismatch_listener(this);
    heap_.set_listener(this);
    calls_.serve(served, *this);
    waiter_.key = awaited_lock;
    waiter_.payload_room = gift_;
    grants_.expect(waiter_);
  }
  // Requests to this rank's heap that were accepted, and calls: executed. Result: frees.
  unsigned carry_out() {
    (void)heap_.serve();
    return frees_;
  }
  bool has_lock() const { return waiter_.granted.is_set(); }

 private:
  void on_free(Rank, std::uintptr_t address, std::size_t) noexcept override {
    MUSUBI_CHECK(is_own(address, 0));
    ++frees_;
  }
  std::size_t on_size_query(std::uintptr_t address) noexcept override { return address; }
  bool is_own(std::uintptr_t address, std::size_t) const noexcept override { return address < 1000; }
  runtime::Answer run(Rank, std::span<const std::byte>, std::span<std::byte>) noexcept override { return {}; }
  void on_mismatch(const sync::CollectiveTerms&, Rank, const sync::CollectiveTerms&) noexcept override {}

  trace::Counters counters_;
  std::vector<std::byte> signature_, board_;
  std::vector<std::byte> gift_ = std::vector<std::byte>(gift_bytes_max);
  sync::NoticeProtocol protocol_;
  remote_lock::Grants grants_;
  remote_lock::Grants::Waiter waiter_{};
  sync::Barrier barrier_;
  sync::Collectives collectives_;
  runtime::HeapService heap_;
  runtime::RemoteCallService calls_;
  runtime::Departure departure_;
  runtime::RequestBell bell_;
  unsigned frees_ = 0;
};

}  // namespace musubi::fabric::conformance
