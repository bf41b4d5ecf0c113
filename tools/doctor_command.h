// `musubi doctor`: whether a job can run on this machine, and what would make it run better.
#pragma once

#include "launch/hosts/orders.h"
#include "run_command.h"

namespace musubi::tools {

// Of the options, ranks, threads and settings count: the job that is asked about. Result: 0 when it can run,
// 1 when not, status_of_misuse when a setting is refused.
int examine_machine(const RunOptions& options, bool as_json);

// Subject of the facts that are told below the table of the hosts.
inline constexpr const char* doctor_note = "note";

// What a proxy tells of its host for `musubi doctor --hosts`: facts with a remedy, but for notes, must be
// equal on all hosts. Errors: the job's size is impossible.
Result<std::vector<launch::Fact>> examination_of_this_host(const launch::JobOrder& order);

}  // namespace musubi::tools
