#include "fabric/sim/batch.h"

#include <algorithm>
#include <cstring>

namespace musubi::fabric::sim {

void SimFabric::Operation::land(const Step& step, std::size_t begin, std::size_t end) noexcept {
  std::byte* remote = target.regions_[step.region.value].base + step.offset;
  auto* local = static_cast<std::byte*>(step.local);
  if (step.verb == Verb::get) {
    std::memcpy(local + begin, remote + begin, end - begin);
    return;
  }
  if (step.verb == Verb::put) {
    std::memcpy(remote + begin, local + begin, end - begin);
    return;
  }
  auto* word = reinterpret_cast<std::uint64_t*>(remote);
  const std::uint64_t old = *word;
  if (step.verb == Verb::fetch_add) *word = old + step.operand;
  if (step.verb == Verb::swap || (step.verb == Verb::compare_swap && old == step.compare))
    *word = step.operand;
  std::memcpy(local, &old, sizeof(old));
}

void SimFabric::Operation::begin_step() noexcept {
  World& world = source.world_;
  const LatencyModel& model = source.network_.model();
  const Step& step = steps[present];
  const std::uint64_t duration = model.step_ns + step.bytes * model.ns_per_256_bytes / 256;
  const std::uint64_t first_boundary = 8 - step.offset % 8;  // words of the target stay whole
  const bool long_step = !is_atomic(step.verb) && step.bytes > first_boundary;
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

// The last step has taken effect.
void SimFabric::Operation::go_back() noexcept {
  World& world = source.world_;
  std::uint64_t delay = source.travel_ns(target.self(), 1);
  const Hostility& hostility = source.network_.hostility();
  if (hostility.late_completion != 0 && world.random().chance(hostility.late_completion)) {
    delay += world.random().below(source.network_.model().latency_ns * hostility.late_factor + 1);
  }
  if (&source != &target) {
    const std::uint64_t on_link = source.link_ns(bytes_of(steps, Verb::get));
    delay += target.outward_.end(world.now_ns(), on_link) - world.now_ns();
  }
  world.after(delay, *this, back);
}

void SimFabric::Operation::occur(std::uint64_t argument) noexcept {
  World& world = source.world_;
  if (argument == completed) return complete();
  if (argument == back) {
    if (&source == &target) return complete();
    const std::uint64_t on_link = source.link_ns(bytes_of(steps, Verb::get));
    const std::uint64_t end = source.inward_.end(world.now_ns(), on_link);
    if (end == world.now_ns()) return complete();
    return world.after(end - world.now_ns(), *this, completed);
  }
  if (argument == at_target && &source != &target) {
    const std::uint64_t needed = source.network_.model().gap_ns + source.link_ns(bytes_of(steps, Verb::put));
    const std::uint64_t turn = target.inward_.begin(world.now_ns(), needed);
    if (turn != world.now_ns()) return world.after(turn - world.now_ns(), *this, end_of_step);
  }
  if (argument != end_of_step && argument != at_target) {
    land(steps[present], argument >> 32, argument & 0xffffffffu);
    if (--pieces != 0) return;
    ++present;
  }
  if (present < steps.size()) return begin_step();
  go_back();
}

}  // namespace musubi::fabric::sim
