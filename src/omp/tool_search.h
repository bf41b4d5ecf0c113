// The tool of a job: a library, or a part of the program, that defines ompt_start_tool.
#pragma once

#include <string>
#include <vector>

namespace musubi::omp {

struct ToolCandidate {
  void* start = nullptr;  // ompt_start_tool
  std::string name;
  bool is_of_program = false;  // its data is the program's
};

struct ToolSearch {
  std::vector<ToolCandidate> candidates;  // in the order of the specification: the first that agrees is it
  // Lines about the search so far, and the descriptor that gets them when the tool starts; -1: none does.
  std::string log;
  int log_descriptor = -1;
};

// Keeps the search; the tool starts later (events.h). Before the first region. Defined where the tool's
// interface is built (omp/ompt), else null.
[[gnu::weak]] void offer_tools(ToolSearch search);

}  // namespace musubi::omp
