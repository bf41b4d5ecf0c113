// Rules of looks: what the words of a block's home say of the bytes that are here (docs/design/coherence.md,
// section 4).
#pragma once

#include <cstdint>

#include "coherence/core/block_words.h"
#include "coherence/core/entry.h"

namespace musubi::coherence::rules {

constexpr bool needs_data(const Entry& e, const BlockWords& home) {
  return home.write_ts != e.write_ts.value || e.bytes_lost;
}

// The twin here came from the version that the home has, which can be had again.
constexpr bool twin_is_of(const Entry& e, const BlockWords& home) {
  return home.write_ts == e.write_ts.value && !home.unpublished();
}

// What a look at the home brought besides its words, and whether the bytes here were still those of the
// version that the entry names.
struct Brought {
  bool data;
  bool live;  // the data is that of the home's program, not its public copy
  bool had_bytes;
};
enum class Seen : std::uint8_t {
  same_version,       // as here
  new_data,           // it has come
  needs_live_data,    // a look for that must follow
  needs_public_copy,  // the same
};
constexpr Seen seen_at_home(const Entry& e, const BlockWords& home, Brought brought) {
  const bool is_newer = home.write_ts != e.write_ts.value || !brought.had_bytes;
  if (brought.data ? brought.live != home.unpublished() : is_newer)
    return home.unpublished() ? Seen::needs_live_data : Seen::needs_public_copy;
  // An unpublished version may have other bytes each time that it is taken.
  return brought.data && (is_newer || brought.live) ? Seen::new_data : Seen::same_version;
}

}  // namespace musubi::coherence::rules
