// The program's commands to a tool (omp/events.h).
#include "omp/entry.h"

using namespace musubi::omp;

namespace {

constexpr int no_tool = -2;

int control(int command, int modifier, void* argument) {
  if (!events::are_heard()) return no_tool;
  return events::listener->control(static_cast<std::uint64_t>(command), static_cast<std::uint64_t>(modifier),
                                   argument);
}

}  // namespace

extern "C" {

MUSUBI_EXPORT int omp_control_tool(int command, int modifier, void* argument) {
  MUSUBI_OMP_ENTRY();
  return control(command, modifier, argument);
}
MUSUBI_EXPORT int omp_control_tool_(const int* command, const int* modifier, void* argument) {
  MUSUBI_OMP_ENTRY();
  return control(*command, *modifier, argument);
}

}  // extern "C"
