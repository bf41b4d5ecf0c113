#include "runtime/api/runtime.h"

namespace musubi::runtime {
namespace {

// Signal handlers and interposed functions have no argument to carry the runtime.
constinit Runtime* runtime_of_process = nullptr;

}  // namespace

Runtime* current_runtime() noexcept {
  return runtime_of_process;
}
void set_current_runtime(Runtime* runtime) noexcept {
  runtime_of_process = runtime;
}

}  // namespace musubi::runtime
