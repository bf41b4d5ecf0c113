#include "image/process/own_rank.h"

#include "base/check.h"

namespace musubi::image {
namespace {

// Interposed functions have no argument to carry the runtime.
constinit runtime::Runtime* runtime_of_process = nullptr;
constinit bool is_rank = false;
constinit bool is_running = false;

}  // namespace

void become_rank(runtime::Runtime& runtime) noexcept {
  MUSUBI_CHECK(runtime_of_process == nullptr);
  runtime_of_process = &runtime;
  is_rank = true;
}

void note_program_runs() noexcept {
  MUSUBI_CHECK(is_rank);
  is_running = true;
}

void become_child_of_rank() noexcept {
  MUSUBI_CHECK(is_rank);
  is_rank = false;
}

runtime::Runtime* own_runtime() noexcept {
  return is_rank ? runtime_of_process : nullptr;
}

runtime::Runtime* runtime_of_memory() noexcept {
  return runtime_of_process;
}

bool is_child_of_rank() noexcept {
  return runtime_of_process != nullptr && !is_rank;
}

bool program_runs() noexcept {
  return is_running;
}

bool runs_over_ranks() noexcept {
  return is_rank && is_running && runtime_of_process->ranks() > 1;
}

}  // namespace musubi::image
