// sms.h: beginning and end.
#include <cstdio>
#include <string>

#include "base/export.h"
#include "c_api/global_heap.h"
#include "c_api/job.h"
#include "c_api/started_calls.h"
#include "musubi/sms.h"
#include "runtime/threads/waiting.h"
#include "sms/collective_calls.h"
#include "sms/job.h"

using musubi::Rank;
using musubi::sms::Call;
using musubi::sms::compare;
using musubi::sms::Job;
using musubi::sms::job_in;
using musubi::sms::refuse;

MUSUBI_EXPORT int sms_nproc = 0;
MUSUBI_EXPORT int sms_proc_id = -1;

MUSUBI_EXPORT void sms_startup(int argc, char** argv) {
  Job& job = musubi::sms::join(argc, argv);
  sms_nproc = static_cast<int>(job.runtime.ranks());
  sms_proc_id = static_cast<int>(job.runtime.self().value);
  musubi::runtime::note_team(job.runtime.self().value, job.runtime.ranks());
  musubi::runtime::note_call(__builtin_return_address(0));
  compare(job.runtime, {Call::startup});
}

namespace {

// The job ends after the process that told the launcher first has ended: this must be process 0, which may
// still have output to print. Its message precedes those of other processes, unless all processes report
// together.
void leave_job(Job& job) {
  musubi::c_api::wait_for_started_calls();
  musubi::c_api::give_back_thread_objects();
  std::fflush(nullptr);
  musubi::runtime::Ending& ending = job.runtime.ending();
  const bool is_together = ending.finishes_together();
  if (job.runtime.self() == Rank{0} || is_together) ending.finish(0);
  if (!is_together) {
    compare(job.runtime, {Call::shutdown});
    if (job.runtime.self() != Rank{0}) ending.finish(0);
  }
  musubi::c_api::let_go();
}

}  // namespace

MUSUBI_EXPORT void sms_shutdown(void) {
  musubi::runtime::note_call(__builtin_return_address(0));
  Job& job = job_in("sms_shutdown");
  if (job.held_locks.any())
    refuse("sms_shutdown", "this process still holds lock " + std::to_string(job.held_locks._Find_first()) +
                               ": call sms_unlock before");
  compare(job.runtime, {Call::shutdown});
  if (job.owns_job) leave_job(job);
  musubi::sms::let_go();
}

MUSUBI_EXPORT void sms_error(const char* message) {
  musubi::sms::end_job(message != nullptr ? message : "the program ended the job");
}
