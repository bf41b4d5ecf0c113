// musubi.h: joining and leaving the job.
#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>

#include "base/export.h"
#include "c_api/collective_calls.h"
#include "c_api/process.h"
#include "c_api/started_calls.h"
#include "c_api/thread_objects.h"
#include "musubi/musubi.h"

using musubi::c_api::current_process;
using musubi::c_api::Process;

namespace {

// Each process passes through these stages once.
enum class Stage { before, joined, after };
constinit std::atomic<Stage> stage{Stage::before};
// The calling thread was attached by musubi_attach_thread.
constinit thread_local bool is_outsider = false;

void print_line(const std::string& text) {
  const std::string line = "musubi: " + text + "\n";
  std::fputs(line.c_str(), stderr);
}

// The largest status of all ranks. The barrier is first, because it may fetch the writes of other ranks.
// After the gather no rank sends another a request, so each may leave.
int agree_on_status(musubi::runtime::Runtime& runtime, int status) {
  using musubi::c_api::Call;
  constexpr int status_mask = 0xff;  // wait(2) keeps these bits of a status
  musubi::c_api::meet(runtime, Call::finalize);
  musubi::runtime::CollectiveTerms terms;
  terms.call = static_cast<std::uint32_t>(Call::finalize);
  terms.bytes = 1;
  const auto own = static_cast<std::byte>(status & status_mask);
  std::byte largest = own;
  musubi::c_api::gather(runtime, terms, &own, [&](std::size_t, std::span<const std::byte> all) {
    for (const std::byte one : all) largest = std::max(largest, one);
  });
  return std::to_integer<int>(largest);
}

}  // namespace

MUSUBI_EXPORT int musubi_init(int*, char***) {
  Stage expected = Stage::before;
  if (current_process() != nullptr) return MUSUBI_ERROR_STATE;  // sms_startup has joined
  if (!stage.compare_exchange_strong(expected, Stage::joined)) return MUSUBI_ERROR_STATE;
  if (const auto joined = musubi::c_api::join(); !joined) {
    print_line(joined.error().message);
    stage.store(Stage::after);
    return MUSUBI_ERROR_START;
  }
  return MUSUBI_OK;
}

MUSUBI_EXPORT int musubi_finalize(int status) {
  Process* const process = current_process();
  Stage expected = Stage::joined;
  if (process == nullptr || !stage.compare_exchange_strong(expected, Stage::after)) return MUSUBI_ERROR_STATE;
  musubi::c_api::wait_for_started_calls();
  musubi::c_api::give_back_thread_objects();
  const int agreed = agree_on_status(process->runtime, status);
  // The launcher may end this process as soon as another rank has left: output must be flushed before.
  std::fflush(nullptr);
  process->runtime.ending().finish(agreed);
  musubi::c_api::let_go();
  return MUSUBI_OK;
}

MUSUBI_EXPORT void musubi_abort(int status, const char* reason) {
  const std::string text = reason != nullptr ? reason : "the program ended the job";
  status = std::max(status & 0xff, 1);
  std::fflush(nullptr);
  if (Process* const process = current_process()) process->runtime.ending().abort(status, text);
  print_line(text);
  std::_Exit(status);
}

MUSUBI_EXPORT int musubi_rank(void) {
  const Process* const process = current_process();
  return process == nullptr ? -1 : static_cast<int>(process->runtime.self().value);
}

MUSUBI_EXPORT int musubi_size(void) {
  const Process* const process = current_process();
  return process == nullptr ? 0 : static_cast<int>(process->runtime.ranks());
}

MUSUBI_EXPORT int musubi_attach_thread(void) {
  Process* const process = current_process();
  if (process == nullptr) return MUSUBI_ERROR_STATE;
  process->runtime.threads().add_outsider();
  const bool is_new = process->runtime.threads().attach();
  if (!is_new) process->runtime.threads().remove_outsider();
  is_outsider = is_outsider || is_new;
  return MUSUBI_OK;
}

MUSUBI_EXPORT int musubi_detach_thread(void) {
  Process* const process = current_process();
  if (process == nullptr) return MUSUBI_ERROR_STATE;
  musubi::c_api::wait_for_started_calls();
  musubi::c_api::give_back_thread_objects();
  process->runtime.threads().detach();
  if (is_outsider) process->runtime.threads().remove_outsider();
  is_outsider = false;
  return MUSUBI_OK;
}
