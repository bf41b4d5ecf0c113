// Homes move from a rank that has no room to one that has (homes.cpp).
#pragma once

#include <cstddef>
#include <span>

#include "base/task.h"
#include "coherence/migrating/ownership/takeovers.h"
#include "coherence/migrating/releases/publications.h"
#include "coherence/migrating/room/evictions.h"

namespace musubi::coherence::migrating {

class HomeMigration {
 public:
  HomeMigration(Ground& ground, Versions& versions, Twins& twins, Arrivals& arrivals, Evictions& evictions,
                Takeovers& takeovers, Publications& publications)
      : ground_(ground),
        versions_(versions),
        twins_(twins),
        arrivals_(arrivals),
        evictions_(evictions),
        takeovers_(takeovers),
        publications_(publications) {}

  // As Room.
  Task<Offer> offer(std::span<BlockId> blocks);
  Task<std::size_t> end_offer(std::span<const BlockId> blocks);
  Task<std::size_t> take_over(std::span<const BlockId> blocks, std::size_t bytes);
  Task<bool> discard(BlockId first, std::uint64_t count);

 private:
  enum class Bytes : bool { stay, become_zeros };
  Task<bool> bring_to_rest(BlockId id);
  void let_rest(HeldBlock& b, Bytes bytes);
  Task<bool> discard_one(BlockId id);
  Task<> discard_copy(HeldBlock& b);
  bool may_rest(HeldBlock& b);
  bool has_nothing_unreleased(HeldBlock& b);
  Task<> release_from_elsewhere(HeldBlock& b);
  void release_closed(HeldBlock& b);
  std::size_t give_up_copy(HeldBlock& b);
  Task<bool> take_over_one(HeldBlock& b);

  Ground& ground_;
  Versions& versions_;
  Twins& twins_;
  Arrivals& arrivals_;
  Evictions& evictions_;
  Takeovers& takeovers_;
  Publications& publications_;
  std::size_t copies_given_up_ = 0;  // bytes, by the offer under way
};

}  // namespace musubi::coherence::migrating
