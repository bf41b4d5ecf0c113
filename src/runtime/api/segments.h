// Shared memory that front ends add while the job runs: each request adds a segment, with its own blocks,
// placement and policy.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/ids.h"
#include "base/result.h"
#include "coherence/policy.h"
#include "vm/space.h"

namespace musubi::runtime {

struct SegmentRequest {
  std::size_t bytes = 0;        // rounded up to whole pages
  std::size_t block_bytes = 0;  // a power of two, at least a page if it is protected; 0: as in the heap
  vm::InitialHome placement =
      vm::InitialHome::cyclic;  // slices: an equal part for each rank, of whole blocks
  Rank home{};                  // of one_rank
  coherence::Policy policy = coherence::Policy::migrating;
  std::uint8_t merge_unit = 0;      // as in vm::Segment
  std::uint32_t element_bytes = 0;  // as in vm::Segment
  // All accesses are made by compiled code that checks them: no pages protect the segment, and a block has at
  // least unprotected_block_bytes_min bytes. In one memory it is a segment like others.
  bool unprotected = false;
  bool home_only = false;  // as in vm::Segment; of an unprotected one
};

inline constexpr std::size_t unprotected_block_bytes_min = 64;

class Segments {
 public:
  // Whether the job can have a segment without protection like that. Errors: it has another policy than
  // home_based; code of this process does not check its accesses, or in larger units than the blocks.
  virtual Result<void> may_be_unprotected(const SegmentRequest& request) const = 0;
  // Every rank calls it with the same request, on one thread; the calls meet as in a barrier. Ends the job if
  // rank 0's request differs. Result: the segment, all zeros, for the rest of the job. Errors: the same on
  // every rank if no address space is left (segments_bytes), the block size is invalid, or the segment may
  // not be unprotected; on this rank alone if the kernel refuses, which the caller tells the other ranks.
  virtual Result<const vm::Segment*> add(const SegmentRequest& request) = 0;
  // `home` becomes the home of all blocks with a byte of the range. Every rank calls it with the same range,
  // on one thread; the calls meet as in a barrier, and no other thread touches the range until they end.
  // Where homes move by themselves it is a barrier. Ends the job if rank 0 gives another range. Errors: no
  // such rank; not all bytes belong to one segment that was added; a segment of the policy `entry`.
  virtual Result<void> set_home(const void* address, std::size_t bytes, Rank home) = 0;
  // From the next barrier on, `manager` hands out the copies of the pages that hold these bytes, and receives
  // all their updates. Any rank, any thread; of several ranks' requests before one barrier the highest rank's
  // wins, of one rank's the last. Errors: no such rank; not all bytes belong to one segment of the policy
  // `entry`.
  virtual Result<void> change_page_manager(const void* address, std::size_t bytes, Rank manager) = 0;
  // For all further segments.
  virtual std::size_t bytes_left() const noexcept = 0;

 protected:
  ~Segments() = default;
};

}  // namespace musubi::runtime
