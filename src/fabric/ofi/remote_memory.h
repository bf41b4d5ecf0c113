// Gets and puts of peers' memory by the network itself. Each rank registers its regions once, and tells peers
// how to name them: by address or by offset, and by a key. Keys are random where the provider lets us choose:
// a stranger that does not know one reads and writes nothing.
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
#include "fabric/ofi/call_lock.h"
#include "fabric/ofi/library.h"
#include "fabric/ofi/ofi.h"

namespace musubi::fabric::ofi {

// What the library gives back when it has done something.
struct Operation {
  fi_context2 context;  // first: the library has its address
  std::uint32_t peer;   // of what leaves, and of a move
  bool is_move;
};

// What peers reach, and from how many bytes on this rank does so itself. 0: no rank does.
struct Reachable {
  std::span<const OfiReachable> regions;
  std::size_t bytes_min = 0;
  bool is_asked_for = false;  // by a setting: the job does not start without
};

// Result: as the library's. Within its lock.
int register_memory(fid_domain& domain, fid_ep& endpoint, std::uint64_t mode, std::span<std::byte> memory,
                    std::uint64_t access, std::uint64_t key, Owned<fid_mr>& registered) noexcept;

class RemoteMemory {
 public:
  // How to name a rank's regions.
  struct Told {
    struct Region {
      std::uint64_t begin;  // of its addresses; 0 where they count from there
      std::uint64_t key;
    };
    std::uint64_t there;  // a bit per region
    std::array<Region, region_count_max> regions;
  };
  // `calls` and `info` outlive this. Puts go by messages where a complete one may not have arrived.
  RemoteMemory(CallLock& calls, const fi_info& info, std::uint32_t ranks, std::size_t bytes_min);

  // Registers what peers reach, if the provider can do it. What it does not take goes by messages. Result: 0,
  // or why it did not take one, as the library numbers errors.
  int offer(fid_domain& domain, fid_ep& endpoint, std::span<const OfiReachable> regions) noexcept;
  const Told& own() const noexcept { return own_; }
  void know(Rank peer, const Told& told) noexcept {
    if (bytes_min_ != SIZE_MAX) peers_[peer.value] = told;
  }
  // SIZE_MAX: all goes by messages.
  std::size_t bytes_min() const noexcept { return bytes_min_; }

  // Result: false: not now, or never. Any thread, signal-safe.
  bool begin(Rank peer, fi_addr_t address, const Step& step, void* token) noexcept;
  // Of one that is complete or has failed. Result: its token.
  void* end(Operation& operation) noexcept;
  // After the endpoint, before its domain.
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
