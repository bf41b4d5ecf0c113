// Finds streams: blocks missed one after the other. As with the prefetchers of processors, a stream that goes
// on is followed further each time, and a few streams may go on side by side. A new one takes the place of
// the one that was missed longest ago.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "base/ids.h"
#include "base/spin_lock.h"

namespace musubi::coherence::migrating {

class StreamDetector {
 public:
  // The length of a stream that has gone on twice. A shorter one may be a piece of a row, next to which other
  // ranks write: a block that is opened for writing in vain takes its home away from them.
  static constexpr std::uint32_t sure_length = 3;

  // `block` was missed. Result: how many blocks after it its stream makes likely, 0 for the first of a
  // stream. Any thread.
  std::uint32_t missed(BlockId block) {
    lock_.lock();
    Stream* stream = std::find_if(streams_.begin(), streams_.end(),
                                  [&](const Stream& s) { return s.next == block.value; });
    if (stream == streams_.end()) {
      stream = std::ranges::min_element(streams_, {}, &Stream::last_miss);
      stream->length = 0;
    } else {
      stream->length = std::min(2 * stream->length + 1, length_max);
    }
    stream->next = block.value + 1;
    stream->last_miss = ++misses_;
    const std::uint32_t length = stream->length;
    lock_.unlock();
    return length;
  }
  // The blocks after the missed one up to `end` were opened with it: the stream's next miss is there.
  void opened(BlockId missed, BlockId end) {
    MUSUBI_CHECK(end > missed);
    lock_.lock();
    for (Stream& stream : streams_) {
      if (stream.next == missed.value + 1) stream.next = end.value;
    }
    lock_.unlock();
  }

 private:
  static constexpr std::uint32_t length_max = 1024;
  struct Stream {
    std::uint64_t next = UINT64_MAX;  // no block
    std::uint64_t last_miss = 0;
    std::uint32_t length = 0;
  };
  SpinLock lock_;
  std::array<Stream, 8> streams_;
  std::uint64_t misses_ = 0;
};

}  // namespace musubi::coherence::migrating
