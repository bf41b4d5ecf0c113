#include "fabric/active_messages/answers.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "fabric/active_messages/wire.h"
#include "os/clock.h"

namespace musubi::fabric {
namespace {

constexpr std::size_t input_bytes = 8192;  // per peer: some hundred small replies
// Smaller results are copied, which costs less than a place of their own.
constexpr std::size_t large_bytes_min = 1024;

constexpr const char* not_asked = "it answers what was not asked";

bool is_left_out(const Step& step, Verdict verdict) noexcept {
  return step.after != no_verdict && step.after != verdict;
}

bool is_large(const Step& step, Verdict verdict) noexcept {
  return step.verb == Verb::get && step.bytes >= large_bytes_min && !is_left_out(step, verdict);
}

}  // namespace

Answers::Answers(Outbox& outbox, std::uint32_t ranks, trace::Counters& counters, LinkMeter& meter,
                 Hooks hooks)
    : outbox_(outbox), counters_(counters), meter_(meter), hooks_(hooks), sources_(ranks) {
  auto memory = os::Mapping::anywhere(input_bytes * ranks, os::Protection::read_write);
  MUSUBI_CHECK(memory.ok(), "%s", memory.error().message.c_str());
  memory_ = std::move(memory).value();
  for (std::size_t i = 0; i < ranks; ++i) sources_[i].input = memory_.data() + i * input_bytes;
}

// Size of the next result, of which `done` bytes are in place; for a call, as far as it is known.
std::size_t Answers::all_bytes(const Step& step, std::size_t done, const Source& source) noexcept {
  const bool has_ended = step.verb == Verb::call && done >= sizeof(CallEnd);  // source.call is this call
  if (has_ended) return sizeof(CallEnd) + source.call.bytes;
  return is_left_out(step, source.call.verdict) ? 0 : wire::result_bytes(step);
}

// Stops at the capacity of the input, the end of this reply, a call that has not ended, and after the first
// `asked` steps.
Answers::Ahead Answers::look_ahead(const Entry& batch, const Source& source, std::uint32_t asked) noexcept {
  Ahead ahead;
  std::size_t done = source.done;
  for (std::size_t i = source.step; i < asked; ++i) {
    const Step& step = batch.steps[i];
    if (is_large(step, source.call.verdict)) {
      ahead.large = &step;
      return ahead;
    }
    ahead.small += all_bytes(step, done, source) - done;
    const bool is_open =
        step.verb == Verb::call && done < sizeof(CallEnd) && !is_left_out(step, source.call.verdict);
    if (is_open) return ahead;
    done = 0;
    if (ahead.small >= input_bytes) return ahead;
  }
  if (asked == batch.count) ahead.small += sizeof(wire::FrameHeader);
  return ahead;
}

std::size_t Answers::places(Rank from, std::span<Place, places_max> places) noexcept {
  Source& source = sources_[from.value];
  source.direct_first = 0;
  source.indirect = input_bytes - source.held;
  places[0] = Place(source.input + source.held, source.indirect);
  const Entry* const batch = outbox_.awaited(from);
  if (batch == nullptr) return 1;

  const std::uint32_t asked = batch->steps_written.load(std::memory_order_acquire);
  const Step* const now = source.step < asked ? &batch->steps[source.step] : nullptr;
  if (source.held == 0 && now != nullptr && is_large(*now, source.call.verdict)) {
    source.direct_first = now->bytes - source.done;
    Source behind = source;
    behind.step += 1;
    behind.done = 0;
    source.indirect = std::min(input_bytes, look_ahead(*batch, behind, asked).small);
    places[0] = Place(static_cast<std::byte*>(now->local) + source.done, source.direct_first);
    places[1] = Place(source.input, source.indirect);
    return source.indirect == 0 ? 1 : 2;
  }
  const Ahead ahead = look_ahead(*batch, source, asked);
  if (ahead.large == nullptr || ahead.small <= source.held || ahead.small > input_bytes) return 1;
  source.indirect = ahead.small - source.held;
  places[0] = places[0].first(source.indirect);
  places[1] = Place(static_cast<std::byte*>(ahead.large->local), ahead.large->bytes);
  return 2;
}

const char* Answers::received(Rank from, std::size_t bytes) noexcept {
  Source& source = sources_[from.value];
  const std::size_t direct_first = std::min(bytes, source.direct_first);
  const std::size_t indirect = std::min(bytes - direct_first, source.indirect);
  const std::size_t direct_last = bytes - direct_first - indirect;
  if (direct_first != 0) advance(*outbox_.awaited(from), source, direct_first);
  source.held += indirect;
  if (const char* const objection = use(from, source)) return objection;
  // All small results before the large one have arrived, so it is the current one.
  if (direct_last != 0) advance(*outbox_.awaited(from), source, direct_last);
  return nullptr;
}

// The next `bytes` bytes of the current result are in place.
void Answers::advance(const Entry& batch, Source& source, std::size_t bytes) noexcept {
  source.done += bytes;
  source.bytes += bytes;
  count_bytes(counters_, bytes);
  if (source.done < batch.steps[source.step].bytes) return;
  ++source.step;
  source.done = 0;
}

// Reads the clock once for all replies that arrived together: small ones come at millions per second.
void Answers::count_time(const Entry& batch, const Source& source, std::uint64_t& now_ns) noexcept {
  if (now_ns == 0) now_ns = os::monotonic_ns();
  const std::uint64_t duration_ns = now_ns - std::min(now_ns, batch.sent_ns);
  counters_.add(trace::Counter::far_trip_ns, duration_ns);
  if (batch.alone) meter_.note(source.bytes, duration_ns);
}

const char* Answers::use(Rank from, Source& source) noexcept {
  std::size_t used = 0;
  std::uint64_t now_ns = 0;
  while (used < source.held) {
    const Entry* const batch = outbox_.awaited(from);
    if (batch == nullptr) return not_asked;
    // The batch may leave in parts, and the peer answers each step as soon as it arrives. None of the bytes
    // here may belong to a step that has not left, or to the header after it.
    const std::uint32_t asked = batch->steps_written.load(std::memory_order_acquire);
    if (hooks_.injected(InjectedBug::answered_as_a_whole) && asked != batch->count) return not_asked;
    const bool all_there = take_results(*batch, asked, source, used);
    if (source.is_damaged) return "its reply has a damaged result";
    if (!all_there && source.step == asked && used != source.held) return not_asked;
    if (!all_there || source.held - used < sizeof(wire::FrameHeader)) break;
    wire::FrameHeader header;
    std::memcpy(&header, source.input + used, sizeof header);
    used += sizeof header;
    if (header.mark != wire::frame_mark || header.kind != wire::FrameKind::reply ||
        header.count != batch->count || header.sequence != batch->sequence) {
      return "its reply is damaged, or answers another request";
    }
    count_time(*batch, source, now_ns);
    source.step = source.done = source.bytes = 0;
    source.call = {};
    Event* const completion = outbox_.answered(from);
    hooks_.others_may_act();
    completion->set();
  }
  source.held -= used;
  if (used != 0 && source.held != 0) std::memmove(source.input, source.input + used, source.held);
  return nullptr;
}

// Takes results of the first `asked` steps. Result: whether all results of the batch are in place.
bool Answers::take_results(const Entry& batch, std::uint32_t asked, Source& source,
                           std::size_t& used) noexcept {
  for (; source.step < batch.count; ++source.step) {
    if (source.step == asked) return false;
    if (!take_result(batch.steps[source.step], source, used)) return false;
    source.done = 0;
  }
  return true;
}

// Result: whether the whole result is in place.
bool Answers::take_result(const Step& step, Source& source, std::size_t& used) noexcept {
  const bool begins_call = step.verb == Verb::call && source.done < sizeof(CallEnd);
  if (begins_call && !is_left_out(step, source.call.verdict) && !take_call_end(step, source, used))
    return false;
  const std::size_t there = source.held - used;
  const std::size_t wanted = all_bytes(step, source.done, source) - source.done;
  if (wire::is_atomic(step.verb) && there < wanted) return false;
  const std::size_t taken = std::min(there, wanted);
  if (taken != 0) {
    std::memcpy(static_cast<std::byte*>(step.local) + source.done, source.input + used, taken);
    source.bytes += taken;
    count_bytes(counters_, taken);
  }
  used += taken;
  source.done += taken;
  return taken == wanted;
}

// Taken as a whole, because it tells how many bytes follow. Result: whether it has arrived.
bool Answers::take_call_end(const Step& step, Source& source, std::size_t& used) noexcept {
  CallEnd end;
  if (source.held - used < sizeof end) return false;
  std::memcpy(&end, source.input + used, sizeof end);
  if (end.bytes > step.bytes || end.verdict == no_verdict || end.verdict == malformed) {
    source.is_damaged = true;
    return false;
  }
  std::memcpy(step.local, &end, sizeof end);
  used += sizeof end;
  source.done = sizeof end;
  source.call = end;
  return true;
}

}  // namespace musubi::fabric
