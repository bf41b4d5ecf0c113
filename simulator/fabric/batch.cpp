#include "simulator/fabric/batch.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"

namespace musubi::fabric::sim {

void SimFabric::Operation::land(const Step& step, std::size_t begin, std::size_t end) noexcept {
  if (step.verb == Verb::call) return carry_out(step);
  std::byte* remote = target.regions_[step.region.value].base + step.offset;
  auto* local = static_cast<std::byte*>(step.local);
  source.count_bytes(target, end - begin);
  if (step.verb == Verb::get) {
    std::memcpy(local + begin, remote + begin, end - begin);
    bytes_back += end - begin;
  } else if (step.verb == Verb::put) {
    std::memcpy(remote + begin, local + begin, end - begin);
  } else {
    modify(step, remote);
  }
}

void SimFabric::Operation::modify(const Step& step, std::byte* remote) noexcept {
  auto* word = reinterpret_cast<std::uint64_t*>(remote);
  const std::uint64_t old = *word;
  if (step.verb == Verb::fetch_add) *word = old + step.operand;
  if (step.verb == Verb::swap || (step.verb == Verb::compare_swap && old == step.compare))
    *word = step.operand;
  std::memcpy(step.local, &old, sizeof(old));
}

// Runs like a thread of the target: other threads may act between its steps where the procedure allows it.
// Uses the target's registered data.
void SimFabric::Operation::carry_out(const Step& step) noexcept {
  auto* const answer = static_cast<CallEnd*>(step.local);
  const Procedure& procedure = *target.procedures_.find(step.offset);
  Call carried(source.self_, target.self_, target.views_,
               {static_cast<const std::byte*>(step.arguments), step.operand},
               {reinterpret_cast<std::byte*>(answer + 1), step.bytes});
  verdict = procedure.carry_out(carried, procedure.data);
  MUSUBI_CHECK(verdict != no_verdict && verdict != malformed, "a call with malformed arguments");
  const std::size_t bytes = carried.result_bytes();
  *answer = CallEnd{static_cast<std::uint32_t>(bytes), verdict, {}};
  source.count_bytes(target, step.operand + bytes);
  bytes_back += bytes;
}

void SimFabric::Operation::begin_step() noexcept {
  World& world = source.world_;
  const LatencyModel& model = source.network_.model();
  const Step& step = steps[present];
  const std::uint64_t bytes = step.verb == Verb::call ? step.operand : step.bytes;
  const std::uint64_t duration = model.step_ns + bytes * model.ns_per_256_bytes / 256;
  const std::uint64_t first_boundary = 8 - step.offset % 8;  // words of the target stay whole
  const bool in_pieces = step.verb == Verb::get || step.verb == Verb::put;
  const bool long_step = in_pieces && step.bytes > first_boundary;
  if (!long_step || !world.random().chance(source.network_.hostility().torn)) {
    pieces = 1;
    world.after(duration, *this, step.bytes);
    return;
  }
  world.reached("fabric.torn");
  const std::uint64_t boundaries = (step.bytes - first_boundary + 7) / 8;
  const unsigned cuts =
      static_cast<unsigned>(world.random().between(1, std::min<std::uint64_t>(boundaries, 4)));
  const std::uint64_t longest = duration + model.latency_ns;
  std::array<std::uint64_t, 16> at{};
  for (unsigned i = 0; i < cuts; ++i) at[i] = first_boundary + 8 * world.random().below(boundaries);
  at[cuts] = step.bytes;
  std::sort(at.begin(), at.end());  // unused cuts are empty pieces at the front
  pieces = cuts + 1;
  for (std::size_t i = at.size() - cuts - 2; i + 1 < at.size(); ++i) {
    world.after(world.random().between(1, longest), *this, at[i] << 32 | at[i + 1]);
  }
}

void SimFabric::Operation::complete() noexcept {
  Event* event = completion;
  --source.in_flight_;
  this->~Operation();
  frame_free(this, sizeof(Operation));
  event->set();
}

// The last step has taken effect: sends the results back.
void SimFabric::Operation::go_back() noexcept {
  World& world = source.world_;
  std::uint64_t delay = source.travel_ns(target.self(), 1);
  const Hostility& hostility = source.network_.hostility();
  if (hostility.late_completion != 0 && world.random().chance(hostility.late_completion)) {
    delay += world.random().below(source.network_.model().latency_ns * hostility.late_factor + 1);
  }
  if (&source != &target) {
    const std::uint64_t on_link = source.link_ns(bytes_back);
    delay += target.outward_.end(world.now_ns(), on_link) - world.now_ns();
  }
  world.after(delay, *this, back);
}

void SimFabric::Operation::occur(std::uint64_t argument) noexcept {
  World& world = source.world_;
  if (argument == completed) return complete();
  if (argument == back) {
    if (&source == &target) return complete();
    const std::uint64_t on_link = source.link_ns(bytes_back);
    const std::uint64_t end = source.inward_.end(world.now_ns(), on_link);
    if (end == world.now_ns()) return complete();
    return world.after(end - world.now_ns(), *this, completed);
  }
  if (argument == at_target && &source != &target) {
    target.note_arrival();
    const std::uint64_t needed = source.network_.model().gap_ns + source.link_ns(bytes_out(steps));
    const std::uint64_t turn = target.inward_.begin(world.now_ns(), needed);
    if (turn != world.now_ns()) return world.after(turn - world.now_ns(), *this, end_of_step);
  }
  if (argument != end_of_step && argument != at_target) {
    land(steps[present], argument >> 32, argument & 0xffffffffu);
    if (--pieces != 0) return;
    ++present;
  }
  while (present < steps.size() && leaves_out(steps[present])) ++present;
  if (present < steps.size()) return begin_step();
  go_back();
}

}  // namespace musubi::fabric::sim
