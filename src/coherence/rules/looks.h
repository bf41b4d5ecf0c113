// Rules of looks: what the words of a block's home say of the bytes that are here (docs/design/coherence.md,
// section 4).
#pragma once

#include "coherence/core/block_words.h"
#include "coherence/core/entry.h"

namespace musubi::coherence::rules {

// The twin here came from the version that the home has, which can be had again.
constexpr bool twin_is_of(const Entry& e, const BlockWords& home) {
  return home.write_ts == e.write_ts.value && !home.unpublished();
}

}  // namespace musubi::coherence::rules
