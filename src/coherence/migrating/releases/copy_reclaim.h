// Public copies that no rank needs any more give their memory back (copy_reclaim.cpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/task.h"
#include "coherence/migrating/copies/twins.h"
#include "coherence/migrating/copies/versions.h"

namespace musubi::coherence::migrating {

// In a quiescent release, one at a time.
class CopyReclaim {
 public:
  CopyReclaim(Ground& ground, Versions& versions, Twins& twins)
      : ground_(ground), versions_(versions), twins_(twins) {}

  bool is_look_due() const;
  // Looks at some of the copies, and gives back those that no rank needs.
  Task<> give_back();

 private:
  enum class Use : std::uint8_t { needed, needed_and_locked, none_elsewhere, none_at_home };
  Task<std::size_t> give_back_run(std::size_t end, std::size_t bytes_max);
  Use look_at(const HeldBlock& b);
  void forget(HeldBlock& b, bool at_home);

  Ground& ground_;
  Versions& versions_;
  Twins& twins_;
  std::span<BlockId> old_copies_;  // taken from those of Twins some releases ago
  std::size_t next_ = 0;           // of them, to be looked at
  std::uint32_t taken_at_ = 0;     // the quiescent release that took them
};

}  // namespace musubi::coherence::migrating
