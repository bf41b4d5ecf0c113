// The start of a tool.
#include <unistd.h>

#include <string>
#include <utility>

#include "omp/job.h"
#include "omp/ompt/listener.h"
#include "omp/tool_search.h"

namespace musubi::omp {
namespace {

using StartTool = ompt_start_tool_result_t* (*)(unsigned, const char*);
constexpr unsigned version_of_specification = 202011;

// Kept from the search until the start, which has no argument.
constinit ToolSearch* search = nullptr;

// Whether the tool wants to listen.
bool start(const ToolCandidate& candidate) {
  const auto start_tool = reinterpret_cast<StartTool>(candidate.start);
  ompt_start_tool_result_t* const result = start_tool(version_of_specification, "Musubi OpenMP");
  if (result == nullptr || result->initialize == nullptr) {
    search->log += "Tool of " + candidate.name + " does not want to be started.\n";
    return false;
  }
  auto* const listener = new ompt::ToolListener(*result, candidate.is_of_program);
  if (result->initialize(ompt::look_up, initial_device, &result->tool_data) == 0) {
    search->log += "Tool of " + candidate.name + " has refused to listen.\n";
    ompt::callbacks.clear();
    delete listener;
    return true;  // the search is over all the same
  }
  search->log += "Tool was started and is using the OMPT interface.\n";
  events::listener = listener;
  events::heard = true;
  current_task();  // the thread may have none yet
  listener->thread_begins(events::ThreadKind::initial);
  return true;
}

void start_found_tool() {
  bool is_over = false;
  for (const ToolCandidate& candidate : search->candidates) {
    is_over = is_over || start(candidate);
  }
  if (!events::are_heard()) search->log += "No OMP tool loaded.\n";
  search->log += "----- END LOGGING OF TOOL REGISTRATION -----\n";
  if (search->log_descriptor >= 0) {
    [[maybe_unused]] const auto written =
        ::write(search->log_descriptor, search->log.data(), search->log.size());
  }
  delete std::exchange(search, nullptr);
}

}  // namespace

void offer_tools(ToolSearch found) {
  if (found.candidates.empty() && found.log_descriptor < 0) return;
  search = new ToolSearch(std::move(found));
  events::start_of_tool = start_found_tool;
}

}  // namespace musubi::omp
