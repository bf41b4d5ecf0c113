// How a process comes to its job. This is the one place that reads the invitation and the settings from the
// environment, and knows by which bootstrap a rank joins. Front ends call these functions in this order;
// their own work goes between. One thread, once per process.
#pragma once

#include <memory>
#include <span>

#include "base/result.h"
#include "bootstrap/bootstrap.h"
#include "config/settings.h"
#include "runtime/api/runtime.h"

namespace musubi::runtime {

// Whether the launcher has started this process, or a process that this one has replaced, as a rank. Any
// thread.
bool is_invited();
// Whether this process is a child of a rank that has not joined. Any thread.
bool is_below_invited();

// In a process that is invited, before anything else: starts its program once more where the kernel has laid
// out its addresses otherwise than those of ranks must be. A shell in front may have changed what decides
// that, by `ulimit -s unlimited`, say.
void start_again_if_misplaced(char** arguments);
// In a process that is invited and does not join: the limit on the stack is the user's from here on.
void give_back_stack_limit();

// Errors: a variable MUSUBI_<NAME> that names no setting, or whose value is none of that setting.
Result<config::Settings> read_settings();

// Joins the launcher that has invited this process, and takes the invitation out of the environment: what the
// program starts is an ordinary process. Without an invitation: a job of one rank. Blocks until the launcher
// has answered. Errors: those of the bootstrap.
Result<std::unique_ptr<bootstrap::Bootstrap>> join_job();

// Runtime::start, and current_runtime() is what it made. Collective, with its errors.
Result<std::unique_ptr<Runtime>> start_runtime(const config::Settings& settings,
                                               std::unique_ptr<bootstrap::Bootstrap> bootstrap,
                                               const SharedFromStart& shared);

}  // namespace musubi::runtime
