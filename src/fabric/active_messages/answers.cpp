#include "fabric/active_messages/answers.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "fabric/active_messages/wire.h"

namespace musubi::fabric {
namespace {

constexpr std::size_t input_bytes = 8192;  // per peer: some hundred small replies
// Smaller results are copied; a place of their own costs more.
constexpr std::size_t large_bytes_min = 1024;

bool is_large(const Step& step) noexcept {
  return step.verb == Verb::get && step.bytes >= large_bytes_min;
}

}  // namespace

Answers::Answers(Outbox& outbox, std::uint32_t ranks) : outbox_(outbox), sources_(ranks) {
  auto memory = os::Mapping::anywhere(input_bytes * ranks, os::Protection::read_write);
  MUSUBI_CHECK(memory.ok(), "%s", memory.error().message.c_str());
  memory_ = std::move(memory).value();
  for (std::size_t i = 0; i < ranks; ++i) sources_[i].input = memory_.data() + i * input_bytes;
}

// Looks no further than what fits into the input, and than the end of this reply.
Answers::Ahead Answers::look_ahead(const Entry& batch, const Source& source) noexcept {
  Ahead ahead;
  std::size_t done = source.done;
  for (std::size_t i = source.step; i < batch.count; ++i) {
    const Step& step = batch.steps[i];
    if (is_large(step)) {
      ahead.large = &step;
      return ahead;
    }
    ahead.small += wire::result_bytes(step) - done;
    done = 0;
    if (ahead.small >= input_bytes) return ahead;
  }
  ahead.small += sizeof(wire::FrameHeader);
  return ahead;
}

std::size_t Answers::places(Rank from, std::span<Place, places_max> places) noexcept {
  Source& source = sources_[from.value];
  source.direct_first = 0;
  source.indirect = input_bytes - source.held;
  places[0] = Place(source.input + source.held, source.indirect);
  const Entry* const batch = outbox_.awaited(from);
  if (batch == nullptr || !batch->written.load(std::memory_order_acquire)) return 1;

  const Step* const now = source.step < batch->count ? &batch->steps[source.step] : nullptr;
  if (source.held == 0 && now != nullptr && is_large(*now)) {
    source.direct_first = now->bytes - source.done;
    Source behind = source;
    behind.step += 1;
    behind.done = 0;
    source.indirect = std::min(input_bytes, look_ahead(*batch, behind).small);
    places[0] = Place(static_cast<std::byte*>(now->local) + source.done, source.direct_first);
    places[1] = Place(source.input, source.indirect);
    return source.indirect == 0 ? 1 : 2;
  }
  const Ahead ahead = look_ahead(*batch, source);
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
  // All small results before the large one were there, so its turn has come.
  if (direct_last != 0) advance(*outbox_.awaited(from), source, direct_last);
  return nullptr;
}

// The next `bytes` bytes of the present result are in their place.
void Answers::advance(const Entry& batch, Source& source, std::size_t bytes) noexcept {
  source.done += bytes;
  if (source.done < batch.steps[source.step].bytes) return;
  ++source.step;
  source.done = 0;
}

const char* Answers::use(Rank from, Source& source) noexcept {
  std::size_t used = 0;
  while (used < source.held) {
    const Entry* const batch = outbox_.awaited(from);
    if (batch == nullptr || !batch->written.load(std::memory_order_acquire)) {
      return "it answers what was not asked";
    }
    if (!take_results(*batch, source, used) || source.held - used < sizeof(wire::FrameHeader)) break;
    wire::FrameHeader header;
    std::memcpy(&header, source.input + used, sizeof header);
    used += sizeof header;
    if (header.mark != wire::frame_mark || header.kind != wire::FrameKind::reply ||
        header.count != batch->count || header.sequence != batch->sequence) {
      return "its reply is damaged, or answers another request";
    }
    source.step = source.done = 0;
    outbox_.answered(from)->set();
  }
  source.held -= used;
  if (used != 0 && source.held != 0) std::memmove(source.input, source.input + used, source.held);
  return nullptr;
}

// Result: whether all results are in their places; otherwise more must come.
bool Answers::take_results(const Entry& batch, Source& source, std::size_t& used) noexcept {
  while (source.step < batch.count) {
    const Step& step = batch.steps[source.step];
    const std::size_t there = source.held - used;
    const std::size_t wanted = wire::result_bytes(step) - source.done;
    if (wire::is_atomic(step.verb) && there < wanted) return false;
    const std::size_t taken = std::min(there, wanted);
    if (taken != 0) {
      std::memcpy(static_cast<std::byte*>(step.local) + source.done, source.input + used, taken);
    }
    used += taken;
    source.done += taken;
    if (taken < wanted) return false;
    ++source.step;
    source.done = 0;
  }
  return true;
}

}  // namespace musubi::fabric
