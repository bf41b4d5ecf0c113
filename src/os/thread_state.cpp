#include "os/thread_state.h"

#include <linux/prctl.h>
#include <sys/syscall.h>

#include <cstring>

#include "os/binding.h"
#include "os/system_call.h"

namespace musubi::os {
namespace {

constexpr long this_thread = 0;
constexpr long of_one_thread = 1;  // IOPRIO_WHO_PROCESS
constexpr long bits_of_nodes = 16 * 64;

enum Part : ThreadStateParts {
  blocked = 1,
  processors = 2,
  scheduling = 4,
  timer_slack = 8,
  io_priority = 16,
  memory_policy = 32,
  name = 64
};

cpu_set_t processors_of_this_thread() noexcept {
  if (const auto instead = mask_instead_of_binding(this_thread)) return *instead;
  cpu_set_t found{};
  system_call(SYS_sched_getaffinity, this_thread, sizeof found, as_argument(&found));
  return found;
}

}  // namespace

ThreadState thread_state() noexcept {
  ThreadState state;
  state.blocked = set_signal_mask(SIG_BLOCK, 0);
  state.processors = processors_of_this_thread();
  system_call(SYS_sched_getattr, this_thread, as_argument(&state.scheduling), sizeof state.scheduling, 0);
  state.timer_slack_ns = system_call(SYS_prctl, PR_GET_TIMERSLACK);
  state.io_priority = system_call(SYS_ioprio_get, of_one_thread, this_thread);
  int policy = 0;
  if (system_call(SYS_get_mempolicy, as_argument(&policy), as_argument(&state.memory_policy[1]),
                  bits_of_nodes) == 0) {
    state.memory_policy[0] = static_cast<std::uint64_t>(policy);
  }
  system_call(SYS_prctl, PR_GET_NAME, as_argument(&state.name));
  return state;
}

ThreadStateParts differences(const ThreadState& one, const ThreadState& other) noexcept {
  ThreadStateParts parts = 0;
  const auto compare = [&](Part part, const auto& left, const auto& right) {
    if (std::memcmp(&left, &right, sizeof left) != 0) parts |= part;
  };
  compare(blocked, one.blocked, other.blocked);
  compare(processors, one.processors, other.processors);
  compare(scheduling, one.scheduling, other.scheduling);
  compare(timer_slack, one.timer_slack_ns, other.timer_slack_ns);
  compare(io_priority, one.io_priority, other.io_priority);
  compare(memory_policy, one.memory_policy, other.memory_policy);
  compare(name, one.name, other.name);
  return parts;
}

void set_thread_state(const ThreadState& state, ThreadStateParts parts) noexcept {
  parts &= differences(state, thread_state());
  if ((parts & blocked) != 0) set_signal_mask(SIG_SETMASK, state.blocked);
  if ((parts & processors) != 0 && system_call(SYS_sched_setaffinity, this_thread, sizeof state.processors,
                                               as_argument(&state.processors)) == 0) {
    forget_binding(this_thread);
  }
  if ((parts & scheduling) != 0)
    system_call(SYS_sched_setattr, this_thread, as_argument(&state.scheduling), 0);
  if ((parts & timer_slack) != 0) system_call(SYS_prctl, PR_SET_TIMERSLACK, state.timer_slack_ns);
  if ((parts & io_priority) != 0) system_call(SYS_ioprio_set, of_one_thread, this_thread, state.io_priority);
  if ((parts & memory_policy) != 0) {
    system_call(SYS_set_mempolicy, static_cast<long>(state.memory_policy[0]),
                as_argument(&state.memory_policy[1]), bits_of_nodes);
  }
  if ((parts & name) != 0) system_call(SYS_prctl, PR_SET_NAME, as_argument(&state.name));
}

#if defined(__x86_64__)

namespace {

// MXCSR: exceptions raised (bits 0 to 5), then subnormals, masks, rounding and flush to zero.
constexpr unsigned modes_shift = 6;
constexpr std::uint32_t modes_mask = (1u << floating_point_bits) - 1;
// The x87 control word: masks (bits 0 to 5), bit 6 set, precision and rounding (bits 8 to 11).
constexpr unsigned masks_mask = 0x3f, always_set = 0x40, unit_mask = 0xf00, unit_shift = 2;

}  // namespace

FloatingPointModes floating_point_modes() noexcept {
  std::uint32_t vectors;
  std::uint16_t x87;
  asm volatile("stmxcsr %0" : "=m"(vectors));
  asm volatile("fnstcw %0" : "=m"(x87));
  return {static_cast<std::uint16_t>(vectors >> modes_shift & modes_mask),
          static_cast<std::uint16_t>((x87 & masks_mask) | (x87 & unit_mask) >> unit_shift)};
}

void set_floating_point_modes(FloatingPointModes modes) noexcept {
  const std::uint32_t vectors = static_cast<std::uint32_t>(modes.vectors) << modes_shift;
  const auto x87 = static_cast<std::uint16_t>((modes.x87 & masks_mask) | always_set |
                                              (modes.x87 << unit_shift & unit_mask));
  asm volatile("fnclex; fldcw %0" ::"m"(x87));
  asm volatile("ldmxcsr %0" ::"m"(vectors));
}

#else
#error "say here how this processor's modes of floating-point arithmetic are read and set"
#endif

}  // namespace musubi::os
