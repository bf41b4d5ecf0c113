// Many writers of one block: a writer whose block has its home elsewhere sends its changes, and the home,
// which stays where it is, merges them (docs/decisions/many_writers.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/buffer_pool.h"
#include "base/task.h"
#include "coherence/migrating/copies/leases.h"
#include "coherence/migrating/copies/twins.h"
#include "coherence/migrating/copies/versions.h"
#include "coherence/migrating/for_others/home_changes.h"
#include "coherence/store/changes.h"

namespace musubi::coherence::migrating {

class HomeMerges {
 public:
  HomeMerges(Ground& ground, Versions& versions, Twins& twins, Leases& leases)
      : ground_(ground), versions_(versions), twins_(twins), leases_(leases) {}

  // A release of a block whose home is elsewhere: one trip for each message of changes, mostly one. Result:
  // whether that is done; otherwise this rank must become the home, and the twin tells which changes are left
  // to release.
  Task<bool> release(HeldBlock& b);

 private:
  bool may_send(const HeldBlock& b) const;
  struct Message {
    std::size_t bytes = 0;    // of all; 0: there were no more changes
    std::size_t changed = 0;  // bytes that it changes
  };
  // Puts the next changes to `message`, after a request.
  Message write_message(const HeldBlock& b, Changes& changes, Twin twin, std::byte* message) const;
  // Whether the home is to come here, now that the first message is written.
  bool wants_home(const HeldBlock& b, Changes& changes, const Message& first) const;
  // `home`: where the home may be, and where it was found. Result: done, with `result`; contested; or it does
  // not merge.
  Task<fabric::Verdict> send(const HeldBlock& b, Rank* home, std::span<const std::byte> message,
                             ChangesResult* result);
  void take_result(HeldBlock& b, Rank home, const ChangesResult& result, std::span<const std::byte> message);

  Ground& ground_;
  Versions& versions_;
  Twins& twins_;
  Leases& leases_;
  BufferPool messages_{fabric::call_argument_bytes_max};
};

}  // namespace musubi::coherence::migrating
