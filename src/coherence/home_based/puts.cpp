#include "coherence/home_based/puts.h"

#include <cstring>

namespace musubi::coherence {

bool collect(Changes& changes, const Block& block, Puts& puts) {
  for (;;) {
    const auto [begin, end] = changes.next();
    if (begin == end) return true;
    if (puts.is_full()) return false;
    std::memcpy(block.published + begin, changes.bytes_at(begin), end - begin);
    puts.add(fabric::put(private_region, block.extent.offset + begin, changes.bytes_at(begin), end - begin));
    changes.pass(end);
  }
}

}  // namespace musubi::coherence
