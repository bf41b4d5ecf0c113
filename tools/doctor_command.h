// `musubi doctor`: whether a job can run on this machine, and how to make it run better.
#pragma once

#include "launch/hosts/wire/orders.h"
#include "run_command.h"

namespace musubi::tools {

// The options for ranks, threads and settings describe the job in question. Result: 0 if it can run, 1 if
// not, status_of_misuse if a setting is refused.
int examine_machine(const RunOptions& options, bool as_json);

// Subject of the facts listed after the table of the hosts.
inline constexpr const char* doctor_note = "note";

// A proxy's report about its host for `musubi doctor --hosts`: facts with a remedy, except notes, must be
// equal on all hosts. Errors: the job's size is impossible.
Result<std::vector<launch::Fact>> examination_of_this_host(const launch::JobOrder& order);

}  // namespace musubi::tools
