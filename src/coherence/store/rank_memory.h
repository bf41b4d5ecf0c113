// The memory of one rank that a protocol works on.
#pragma once

#include <cstddef>

#include "coherence/core/block_pages.h"
#include "coherence/core/block_words.h"
#include "coherence/core/entry.h"
#include "coherence/core/race_log.h"
#include "coherence/core/signature.h"

namespace musubi::coherence {

// Laid out by Space; zero at start. private_view, published and words lie in registered regions
// (coherence/regions.h).
struct RankMemory {
  std::byte* private_view;  // system view of the program's bytes
  std::byte* published;     // public copies, and twins
  BlockWords* words;
  Entry* entries;
  Signature* signature;         // the rank's own, shared by its policies; in registered memory
  BlockPages* pages = nullptr;  // of private_view and published; null: memory is not given back
  RaceLog* races = nullptr;     // null: races are only counted
};

}  // namespace musubi::coherence
