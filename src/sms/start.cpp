// sms.h: beginning and end.
#include <cstdio>
#include <string>

#include "base/export.h"
#include "c_api/process.h"
#include "c_api/started_calls.h"
#include "c_api/thread_objects.h"
#include "musubi/sms.h"
#include "runtime/threads/waiting.h"
#include "sms/collective_calls.h"
#include "sms/process.h"
#include "sms/refusals.h"

using musubi::Rank;
using musubi::sms::Call;
using musubi::sms::compare;
using musubi::sms::Process;
using musubi::sms::process_in;
using musubi::sms::refuse;

MUSUBI_EXPORT int sms_nproc = 0;
MUSUBI_EXPORT int sms_proc_id = -1;

MUSUBI_EXPORT void sms_startup(int argc, char** argv) {
  Process& process = musubi::sms::join(argc, argv);
  sms_nproc = static_cast<int>(process.runtime.ranks());
  sms_proc_id = static_cast<int>(process.runtime.self().value);
  musubi::runtime::note_team(process.runtime.self().value, process.runtime.ranks());
  musubi::runtime::note_call(__builtin_return_address(0));
  compare(process.runtime, {Call::startup});
}

namespace {

// The job ends after the process that told the launcher first has ended: this must be process 0, which may
// still have output to print. Its message precedes those of other processes, unless all processes report
// together.
void leave_job(Process& process) {
  musubi::c_api::wait_for_started_calls();
  musubi::c_api::give_back_thread_objects();
  std::fflush(nullptr);
  musubi::runtime::Ending& ending = process.runtime.ending();
  const bool is_together = ending.finishes_together();
  if (process.runtime.self() == Rank{0} || is_together) ending.finish(0);
  if (!is_together) {
    compare(process.runtime, {Call::shutdown});
    if (process.runtime.self() != Rank{0}) ending.finish(0);
  }
  musubi::c_api::let_go();
}

}  // namespace

MUSUBI_EXPORT void sms_shutdown(void) {
  musubi::runtime::note_call(__builtin_return_address(0));
  Process& process = process_in("sms_shutdown");
  if (process.held_locks.any())
    refuse("sms_shutdown", "this process still holds lock " +
                               std::to_string(process.held_locks._Find_first()) + ": call sms_unlock before");
  compare(process.runtime, {Call::shutdown});
  if (process.owns_job) leave_job(process);
  musubi::sms::let_go();
}

MUSUBI_EXPORT void sms_error(const char* message) {
  musubi::sms::end_job(message != nullptr ? message : "the program ended the job");
}
