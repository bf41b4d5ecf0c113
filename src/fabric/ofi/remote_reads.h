// Reads of peers' memory by the network itself (fi_read). Each rank registers its regions once, and tells
// peers how to name them: by address or by offset, and by a key. Keys are random where the provider lets us
// choose: a stranger that does not know one reads nothing.
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
  std::uint32_t peer;   // of what leaves, and of a read
  bool is_read;
};

// What peers may read, and from how many bytes on this rank reads. 0: no rank does.
struct Readable {
  std::span<const OfiReadable> regions;
  std::size_t bytes_min = 0;
};

// Result: as the library's. Within its lock.
int register_memory(fid_domain& domain, fid_ep& endpoint, std::uint64_t mode, std::span<std::byte> memory,
                    std::uint64_t access, std::uint64_t key, Owned<fid_mr>& registered) noexcept;

class RemoteReads {
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
  struct Request {
    Rank peer;
    RegionId region;
    std::uint64_t offset;
    std::span<std::byte> local;
    void* token;
  };

  // `calls` and `info` outlive this.
  RemoteReads(CallLock& calls, const fi_info& info, std::uint32_t ranks, std::size_t bytes_min);

  // Registers what peers may read, if the provider has reads. What it does not take goes by messages.
  void offer(fid_domain& domain, fid_ep& endpoint, std::span<const OfiReadable> regions) noexcept;
  const Told& own() const noexcept { return own_; }
  void know(Rank peer, const Told& told) noexcept {
    if (bytes_min_ != SIZE_MAX) peers_[peer.value] = told;
  }
  // SIZE_MAX: without reads.
  std::size_t bytes_min() const noexcept { return bytes_min_; }

  // Result: false: not now, or never. Any thread, signal-safe.
  bool begin(fi_addr_t address, const Request& request) noexcept;
  // Of one that is complete or has failed. Result: its token.
  void* end(Operation& operation) noexcept;
  // After the endpoint, before its domain.
  void close() noexcept;

 private:
  struct Read : Operation {
    void* token = nullptr;
    Owned<fid_mr> local;
    Read* next = nullptr;
  };

  Read* take() noexcept;
  void give_back(Read* read) noexcept;

  CallLock& calls_;
  const fi_info& info_;
  const std::uint64_t mode_;
  const std::size_t bytes_min_;
  fid_domain* domain_ = nullptr;
  fid_ep* endpoint_ = nullptr;
  Told own_{};
  std::vector<Told> peers_;
  std::vector<Owned<fid_mr>> registered_;
  std::vector<Read> reads_;
  SpinLock lock_;
  Read* free_ MUSUBI_GUARDED_BY(lock_) = nullptr;
};

}  // namespace musubi::fabric::ofi
