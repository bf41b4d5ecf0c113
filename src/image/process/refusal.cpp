#include "image/process/refusal.h"

#include <sys/uio.h>

#include <array>
#include <atomic>
#include <cstdio>

#include "image/process/own_rank.h"
#include "image/process/real_function.h"
#include "os/errno_kept.h"

namespace musubi::image {

void refuse(int status, std::string_view reason) noexcept {
  iovec parts[] = {{const_cast<char*>("musubi: "), 8},
                   {const_cast<char*>(reason.data()), reason.size()},
                   {const_cast<char*>("\n"), 1}};
  [[maybe_unused]] const ssize_t written = ::writev(2, parts, 3);
  exit_process(status);
}

namespace {

// Result: whether this call is the first with `remedy`.
bool is_first(const char* remedy) noexcept {
  static constinit std::array<std::atomic<const char*>, 32> written{};
  for (auto& place : written) {
    const char* before = nullptr;
    if (place.compare_exchange_strong(before, remedy)) return true;
    if (before == remedy) return false;
  }
  return false;
}

}  // namespace

void report_refused_call(std::string_view reason, std::string_view remedy) noexcept {
  if (!is_first(remedy.data())) return;
  const os::ErrnoKept errno_kept;
  char who[32] = "musubi: ";
  if (const runtime::Runtime* const runtime = own_runtime()) {
    std::snprintf(who, sizeof who, "musubi: rank %u: ", runtime->self().value);
  }
  const auto part = [](std::string_view text) { return iovec{const_cast<char*>(text.data()), text.size()}; };
  const iovec parts[] = {part(who), part(reason), part("; "), part(remedy), part("\n")};
  [[maybe_unused]] const ssize_t count = ::writev(2, parts, 5);
}

}  // namespace musubi::image
