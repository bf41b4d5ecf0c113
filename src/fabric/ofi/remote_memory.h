// Gets and puts of peers' memory by the network itself. Each rank registers its regions once, and tells its
// peers how to name them: by address or by offset, and by a key. Keys are random if the provider lets us
// choose them: a stranger without the key can neither read nor write.
#pragma once

#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_rma.h>

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/spin_lock.h"
#include "fabric/fabric.h"
#include "fabric/ofi/library.h"
#include "fabric/ofi/ofi.h"

namespace musubi::fabric::ofi {

// The context of an operation, which the library returns when it completes.
struct Operation {
  fi_context2 context;  // first: the library knows its address
  std::uint32_t peer;   // of a sent message or a move
  bool is_move;
};

// Memory that peers access, and the smallest size that this rank itself accesses so. 0: no rank does.
struct Reachable {
  std::span<const OfiReachable> regions;
  std::size_t bytes_min = 0;
  bool is_asked_for = false;  // by a setting: the job does not start without it
};

// Result: 0 or an error of the library. REQUIRES: the library's lock is held.
int register_memory(fid_domain& domain, fid_ep& endpoint, std::uint64_t mode, std::span<std::byte> memory,
                    std::uint64_t access, std::uint64_t key, Owned<fid_mr>& registered) noexcept;

class RemoteMemory {
 public:
  // How peers name a rank's regions.
  struct Told {
    struct Region {
      std::uint64_t begin;  // address of the region; 0 if peers use offsets
      std::uint64_t key;
    };
    std::uint64_t there;  // a bit per region
    std::array<Region, region_count_max> regions;
  };
  // `calls` and `info` outlive this. Puts are messages if a complete one may not have arrived.
  RemoteMemory(CallLock& calls, const fi_info& info, std::uint32_t ranks, std::size_t bytes_min);

  // Registers regions for peers, if the provider can do it; regions that it refuses are accessed by messages.
  // Result: 0, or the library's error for a refused region.
  int offer(fid_domain& domain, fid_ep& endpoint, std::span<const OfiReachable> regions) noexcept;
  const Told& own() const noexcept { return own_; }
  void know(Rank peer, const Told& told) noexcept {
    if (bytes_min_ != SIZE_MAX) peers_[peer.value] = told;
  }
  // SIZE_MAX: messages only.
  std::size_t bytes_min() const noexcept { return bytes_min_; }

  // Result: false if it is not possible now, or never. Any thread, signal-safe.
  bool begin(Rank peer, fi_addr_t address, const Step& step, void* token) noexcept;
  // Ends a complete or failed operation. Result: its token.
  void* end(Operation& operation) noexcept;
  // After the endpoint is closed, before its domain is.
  void close() noexcept;

 private:
  struct Move : Operation {
    void* token = nullptr;
    Owned<fid_mr> local;
    Move* next = nullptr;
  };

  long post(Move& move, fi_addr_t address, const Told::Region& region, const Step& step) noexcept;
  Move* take() noexcept;
  void give_back(Move* move) noexcept;

  CallLock& calls_;
  const fi_info& info_;
  const std::uint64_t mode_;
  const std::size_t bytes_min_;
  const bool tells_delivery_;
  fid_domain* domain_ = nullptr;
  fid_ep* endpoint_ = nullptr;
  Told own_{};
  std::vector<Told> peers_;
  std::vector<Owned<fid_mr>> registered_;
  std::vector<Move> moves_;
  SpinLock lock_;
  Move* free_ MUSUBI_GUARDED_BY(lock_) = nullptr;
};

}  // namespace musubi::fabric::ofi
