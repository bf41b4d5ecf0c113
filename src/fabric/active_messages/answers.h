// Reply lanes, receiving side: places results where the steps of the batches want them, and completes the
// batches. Large results are received in place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "fabric/active_messages/link_meter.h"
#include "fabric/active_messages/outbox.h"
#include "fabric/active_messages/transport.h"
#include "hooks/hooks.h"
#include "os/memory.h"
#include "trace/counters.h"

namespace musubi::fabric {

// Counts bytes that crossed the network. Any thread.
inline void count_bytes(trace::Counters& counters, std::uint64_t bytes) noexcept {
  counters.add(trace::Counter::remote_bytes, bytes);
  counters.add(trace::Counter::far_bytes, bytes);
}

// One thread at a time, inside Transport::poll; signal-safe.
class Answers {
 public:
  // `counters` counts received bytes and the time of batches; `meter` is told both.
  Answers(Outbox& outbox, std::uint32_t ranks, trace::Counters& counters, LinkMeter& meter, Hooks hooks);

  // As Receiver::places.
  std::size_t places(Rank from, std::span<Place, places_max> places) noexcept;
  // Completes batches. Result: null, or the objection to the reply; nothing more is received after that.
  const char* received(Rank from, std::size_t bytes) noexcept;

 private:
  struct Source {
    std::byte* input = nullptr;                  // bytes not received in place
    std::size_t held = 0;                        // bytes in `input` that are not used yet
    std::size_t step = 0;                        // of the awaited batch: its result is the next one
    std::size_t done = 0;                        // bytes of this result that are in place
    CallEnd call{};                              // of the last call in this batch
    std::size_t bytes = 0;                       // of results of this batch, so far
    bool is_damaged = false;                     // by a malformed result
    std::size_t direct_first = 0, indirect = 0;  // sizes of the last places given out
  };
  struct Ahead {
    // Bytes before the next large result or the end of the reply, as far as they are known.
    std::size_t small = 0;
    const Step* large = nullptr;  // its step
  };

  static Ahead look_ahead(const Entry& batch, const Source& source, std::uint32_t asked) noexcept;
  const char* use(Rank from, Source& source) noexcept;
  bool take_results(const Entry& batch, std::uint32_t asked, Source& source, std::size_t& used) noexcept;
  bool take_result(const Step& step, Source& source, std::size_t& used) noexcept;
  static std::size_t all_bytes(const Step& step, std::size_t done, const Source& source) noexcept;
  static bool take_call_end(const Step& step, Source& source, std::size_t& used) noexcept;
  void advance(const Entry& batch, Source& source, std::size_t bytes) noexcept;
  void count_time(const Entry& batch, const Source& source, std::uint64_t& now_ns) noexcept;

  Outbox& outbox_;
  trace::Counters& counters_;
  LinkMeter& meter_;
  [[no_unique_address]] const Hooks hooks_;
  os::Mapping memory_;
  std::vector<Source> sources_;
};

}  // namespace musubi::fabric
