#include "coherence/core/race_log.h"

#include "base/check.h"

namespace musubi::coherence {

void RaceLog::note_race(std::uintptr_t first, Rank other, bool joined) noexcept {
  lock_.lock();
  if (!first_) first_ = {first, other};
  has_joined_ = has_joined_ || joined;
  lock_.unlock();
}

void RaceLog::note(std::uintptr_t address, std::size_t bytes, Rank other, bool kept_whole) noexcept {
  MUSUBI_CHECK(bytes != 0);
  lock_.lock();
  std::size_t i = 0;
  while (i < count_ && places_[i].address != address) ++i;
  if (i < count_) {
    ++places_[i].times;
    places_[i].kept_whole = kept_whole;
  } else if (count_ < places_max) {
    places_[count_++] = {address, bytes, other, 1, kept_whole};
  }
  lock_.unlock();
}

}  // namespace musubi::coherence
