#include "runtime/api/runtime.h"

namespace musubi::runtime {
namespace {

// Signal handlers and interposed functions have no argument through which the runtime could reach them.
constinit Runtime* runtime_of_process = nullptr;

}  // namespace

Runtime* current_runtime() noexcept {
  return runtime_of_process;
}
void set_current_runtime(Runtime* runtime) noexcept {
  runtime_of_process = runtime;
}

}  // namespace musubi::runtime
