// Write notices and their bounded collections (paper TS, section 3.3).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/ids.h"

namespace musubi::coherence {

// "`writer` released `block` at `write_ts`; copies of that version may be held until `read_ts`".
struct Notice {
  BlockId block;
  LogicalTime write_ts;
  LogicalTime read_ts;
  Rank writer;
  bool live = false;  // the writer has no public copy: readers take the bytes that its program works on
};
static_assert(sizeof(Notice) == 32);

// A signature as it travels: everything written before it is either named, or older than `minimum`.
struct SignatureView {
  LogicalTime minimum;
  std::span<const Notice> notices;

  bool empty() const { return notices.empty() && minimum == LogicalTime{}; }
};

}  // namespace musubi::coherence
