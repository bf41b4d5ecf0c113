#include "sms/process.h"

#include <atomic>
#include <string>
#include <utility>

#include "runtime/join_job.h"
#include "sms/collective_calls.h"
#include "sms/refusals.h"
#include "sms/start_alone.h"

namespace musubi::sms {
namespace {

enum class Stage { before, joined, after };
constinit std::atomic<Stage> stage{Stage::before};
constinit std::atomic<Process*> process_of_program{nullptr};

constexpr const char* own_name = "sms_startup";

template <class Value>
Value value_of(Result<Value> result) {
  if (!result) refuse(own_name, result.error().message);
  return std::move(result).value();
}

}  // namespace

Process::Process(std::unique_ptr<runtime::Runtime> started)
    : owner(std::move(started)),
      runtime(*owner),
      thread(::pthread_self()),
      memory(runtime),
      page_managers(runtime) {}

Process* current_process() noexcept {
  return process_of_program.load(std::memory_order_acquire);
}

Process& process_in(const char* function) {
  Process* const process = current_process();
  if (process == nullptr) {
    if (stage.load() == Stage::before) refuse(function, "the job has not begun: call sms_startup before");
    refuse(function, "the job is over: call sms_shutdown last");
  }
  if (::pthread_equal(process->thread, ::pthread_self()) == 0)
    refuse(function, "a thread calls that did not call sms_startup: let one thread of each process call");
  return *process;
}

Process& join(int argc, char** argv) {
  Stage expected = Stage::before;
  if (!stage.compare_exchange_strong(expected, Stage::joined))
    refuse(own_name, "the program has called it before: call it once");
  const config::Settings settings = value_of(runtime::read_settings());
  if (runtime::is_below_invited())
    refuse(own_name,
           "a process of a job has started this program: name the program itself to musubi run, or let the "
           "shell "
           "exec it");
  if (!runtime::is_invited()) start_others_if_asked(argc, argv);
  auto bootstrap = value_of(runtime::join_job());
  auto started = value_of(runtime::start_runtime(settings, std::move(bootstrap), {.adds_segments = true}));
  auto* const joined = new Process(std::move(started));
  process_of_program.store(joined, std::memory_order_release);
  name_mismatches(joined->runtime);
  return *joined;
}

void let_go() noexcept {
  stage.store(Stage::after);
  process_of_program.store(nullptr, std::memory_order_release);
}

Rank manager_in(const Process& process, const char* function, int number) {
  const std::uint32_t ranks = process.runtime.ranks();
  if (number < 0 || static_cast<std::uint32_t>(number) >= ranks)
    refuse(function, "there is no process " + std::to_string(number) + ": a manager is a process from 0 to " +
                         std::to_string(ranks - 1));
  return Rank{static_cast<std::uint32_t>(number)};
}

}  // namespace musubi::sms
