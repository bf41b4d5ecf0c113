// Signals that the program sends to itself: it sees one process, with the threads of all ranks.
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>

#include "image/symbols/exported.h"
#include "image/symbols/files/sending.h"

namespace musubi::image {
namespace {

constinit Next<int (*)(pid_t, int)> next_kill("kill");
constinit Next<int (*)(pid_t, int, sigval)> next_queue("sigqueue");
constinit Next<int (*)(pid_t, pid_t, int)> next_thread_kill("tgkill");

}  // namespace

Job* job_addressed_by(pid_t process) noexcept {
  Job* const job = job_of_ranks();
  return job != nullptr && process == job->attributes.process_ids().process ? job : nullptr;
}

}  // namespace musubi::image

using namespace musubi::image;

MUSUBI_EXPORT int kill(pid_t process, int signal) noexcept {
  Job* const job = job_addressed_by(process);
  return job == nullptr ? next_kill.get()(process, signal)
                        : musubi::image::fail(job->signals.send_to_process(signal, nullptr));
}
MUSUBI_EXPORT int sigqueue(pid_t process, int signal, const sigval value) noexcept {
  Job* const job = job_addressed_by(process);
  return job == nullptr ? next_queue.get()(process, signal, value)
                        : musubi::image::fail(job->signals.send_to_process(signal, &value));
}
MUSUBI_EXPORT int tgkill(pid_t process, pid_t thread, int signal) {
  Job* const job = job_addressed_by(process);
  return job == nullptr ? next_thread_kill.get()(process, thread, signal)
                        : musubi::image::fail(job->signals.send_to_thread(thread, signal));
}
