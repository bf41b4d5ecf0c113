// A trace as a test reads it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "trace/event_log.h"

namespace musubi::test {

struct ParsedSpan {
  std::string name;
  std::int64_t begin_ns;
  std::int64_t end_ns;
  std::uint64_t argument;
};

struct ParsedTrace {
  bool valid = false;
  std::map<int, std::string> processes;                          // names, by pid
  std::map<std::pair<int, int>, std::string> threads;            // names, by pid and tid
  std::map<std::pair<int, int>, std::vector<ParsedSpan>> spans;  // the same

  std::size_t count(int pid, const std::string& name) const {
    std::size_t sum = 0;
    for (const auto& [thread, list] : spans) {
      if (thread.first != pid) continue;
      sum += static_cast<std::size_t>(
          std::ranges::count_if(list, [&](const ParsedSpan& span) { return span.name == name; }));
    }
    return sum;
  }
};

inline ParsedTrace parse_trace(const std::string& text) {
  ParsedTrace trace;
  const nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object() || !json.contains("traceEvents") || !json["traceEvents"].is_array()) return trace;
  const auto ns = [](const nlohmann::json& microseconds) {
    return std::llround(microseconds.get<double>() * 1000);
  };
  for (const nlohmann::json& event : json["traceEvents"]) {
    const int pid = event.at("pid").get<int>();
    const std::pair<int, int> thread{pid, event.at("tid").get<int>()};
    const auto name = event.at("name").get<std::string>();
    if (name == "process_name") trace.processes[pid] = event.at("args").at("name").get<std::string>();
    if (name == "thread_name") trace.threads[thread] = event.at("args").at("name").get<std::string>();
    if (event.at("ph") != "X") continue;
    const std::int64_t begin_ns = ns(event.at("ts"));
    const auto argument = event.at("args").at("argument").get<std::string>();
    trace.spans[thread].push_back(
        {name, begin_ns, begin_ns + ns(event.at("dur")), std::stoull(argument, nullptr, 16)});
  }
  trace.valid = true;
  return trace;
}

// Names that events.def does not declare.
inline std::set<std::string> unknown_names(const ParsedTrace& trace) {
  std::set<std::string> unknown;
  for (const auto& [thread, list] : trace.spans) {
    for (const ParsedSpan& span : list) unknown.insert(span.name);
  }
  for (const trace::EventText& text : trace::event_texts) unknown.erase(text.name);
  return unknown;
}

// Pairs of spans of one thread that overlap without nesting.
inline std::size_t overlaps(const ParsedTrace& trace) {
  std::size_t found = 0;
  for (auto [thread, list] : trace.spans) {
    std::ranges::stable_sort(list, [](const ParsedSpan& a, const ParsedSpan& b) {
      return a.begin_ns != b.begin_ns ? a.begin_ns < b.begin_ns : a.end_ns > b.end_ns;
    });
    std::vector<std::int64_t> ends;
    for (const ParsedSpan& span : list) {
      while (!ends.empty() && ends.back() <= span.begin_ns) ends.pop_back();
      if (!ends.empty() && span.end_ns > ends.back()) ++found;
      ends.push_back(span.end_ns);
    }
  }
  return found;
}

}  // namespace musubi::test
