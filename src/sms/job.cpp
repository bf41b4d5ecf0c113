#include "sms/job.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "c_api/job.h"
#include "runtime/join_job.h"
#include "sms/collective_calls.h"

namespace musubi::sms {
namespace {

enum class Stage { before, joined, after };
constinit std::atomic<Stage> stage{Stage::before};
constinit std::atomic<Job*> job_of_program{nullptr};

constexpr const char* own_name = "sms_startup";

// Result: whether it has joined the job now.
bool join_if_alone(int argc, char** argv) {
  if (c_api::current_job() != nullptr) return false;
  if (const auto settings = runtime::read_settings(); !settings) refuse(own_name, settings.error().message);
  if (runtime::is_below_invited())
    refuse(own_name,
           "a process of a job has started this program: name the program itself to musubi run, or let the "
           "shell exec it");
  if (!runtime::is_invited()) start_others_if_asked(argc, argv);
  if (const auto joined = c_api::join(); !joined) refuse(own_name, joined.error().message);
  return true;
}

}  // namespace

Job::Job(runtime::Runtime& job, bool owns)
    : runtime(job), owns_job(owns), thread(::pthread_self()), memory(job), page_managers(job) {}

Job* current_job() noexcept {
  return job_of_program.load(std::memory_order_acquire);
}

Job& job_in(const char* function) {
  Job* const job = current_job();
  if (job == nullptr) {
    if (stage.load() == Stage::before) refuse(function, "the job has not begun: call sms_startup before");
    refuse(function, "the job is over: call sms_shutdown last");
  }
  if (::pthread_equal(job->thread, ::pthread_self()) == 0)
    refuse(function, "called by a thread that did not call sms_startup: let one thread of each process call");
  return *job;
}

Job& join(int argc, char** argv) {
  Stage expected = Stage::before;
  if (!stage.compare_exchange_strong(expected, Stage::joined))
    refuse(own_name, "the program has called it before: call it once");
  const bool owns_job = join_if_alone(argc, argv);
  auto* const joined = new Job(c_api::current_job()->runtime, owns_job);
  job_of_program.store(joined, std::memory_order_release);
  name_mismatches(joined->runtime);
  return *joined;
}

void let_go() noexcept {
  stage.store(Stage::after);
  job_of_program.store(nullptr, std::memory_order_release);
}

Rank manager_in(const Job& job, const char* function, int number) {
  const std::uint32_t ranks = job.runtime.ranks();
  if (number < 0 || static_cast<std::uint32_t>(number) >= ranks)
    refuse(function, "there is no process " + std::to_string(number) + ": a manager is a process from 0 to " +
                         std::to_string(ranks - 1));
  return Rank{static_cast<std::uint32_t>(number)};
}

void refuse(const char* function, const std::string& text) {
  end_job(std::string(function) + ": " + text);
}

void end_job(const std::string& text) {
  std::fflush(nullptr);
  if (Job* const job = current_job()) job->runtime.ending().abort(1, text);
  std::fprintf(stderr, "musubi: %s\n", text.c_str());
  std::_Exit(1);
}

}  // namespace musubi::sms
