#include "bootstrap/local/address_layout.h"

#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "os/limits.h"
#include "os/system_call.h"

namespace musubi::bootstrap::local {
namespace {

// The kernel reserves at least 128 MiB for the stack, part of it as a gap.
constexpr rlim_t moves_nothing = rlim_t{96} << 20;

constexpr unsigned long persona_query = 0xffffffff;

}  // namespace

std::uint64_t ask_for_usual_layout(bool& fixed) noexcept {
  const long persona = os::system_call(SYS_personality, persona_query);
  const long wanted = (persona | ADDR_NO_RANDOMIZE) & ~ADDR_COMPAT_LAYOUT;
  fixed = persona >= 0 && os::system_call(SYS_personality, wanted) >= 0;
  const rlim_t before = os::kernel_limit(RLIMIT_STACK).rlim_cur;
  if (before > moves_nothing) set_stack_limit(moves_nothing);
  return before;
}

bool has_usual_layout() noexcept {
  const long persona = os::system_call(SYS_personality, persona_query);
  const bool fixed = persona < 0 || (persona & (ADDR_NO_RANDOMIZE | ADDR_COMPAT_LAYOUT)) == ADDR_NO_RANDOMIZE;
  return fixed && os::kernel_limit(RLIMIT_STACK).rlim_cur <= moves_nothing;
}

void set_stack_limit(std::uint64_t bytes) noexcept {
  os::set_soft_limit(0, RLIMIT_STACK, bytes);
}

}  // namespace musubi::bootstrap::local
