// Shared memory that front ends add while the job runs: each time a segment, with blocks, placement and
// policy of its own.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/ids.h"
#include "base/result.h"
#include "vm/space.h"

namespace musubi::runtime {

struct SegmentRequest {
  std::size_t bytes = 0;        // rounded up to whole pages
  std::size_t block_bytes = 0;  // a power of two, of a page at least; 0: as in the heap
  vm::InitialHome placement =
      vm::InitialHome::cyclic;      // slices: an equal part for each rank, of whole blocks
  Rank home{};                      // of one_rank
  std::uint8_t policy = 0;          // address_plan.h
  std::uint8_t merge_unit = 0;      // as in vm::Segment
  std::uint32_t element_bytes = 0;  // as in vm::Segment
};

class Segments {
 public:
  // Every rank calls it with the same request, one thread of each; the ranks' calls meet as in a barrier.
  // Ends the job when rank 0 asks for something else. Result: the segment, all zeros, for the rest of the
  // job. Errors, the same at every rank: no address space is left (segments_bytes), no such block size;
  // refused by the kernel here, which the caller tells the others.
  virtual Result<const vm::Segment*> add(const SegmentRequest& request) = 0;
  // From the next barrier on `manager` gives out the copies of the pages that hold these bytes, and every
  // update of theirs goes there. Any rank may call it, any thread; of several ranks that ask before one
  // barrier the highest decides, of one rank the last call. Errors: no such rank; not all of the bytes belong
  // to one segment of the policy `entry`.
  virtual Result<void> change_page_manager(const void* address, std::size_t bytes, Rank manager) = 0;
  // Of all that may still be added.
  virtual std::size_t bytes_left() const noexcept = 0;

 protected:
  ~Segments() = default;
};

}  // namespace musubi::runtime
