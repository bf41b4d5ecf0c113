// How a process joins its job. Only this file reads the invitation and the settings from the environment, and
// chooses the bootstrap by which a rank joins. Front ends call these functions in this order, with work of
// their own in between. One thread, once per process.
#pragma once

#include <memory>
#include <span>

#include "base/result.h"
#include "bootstrap/bootstrap.h"
#include "config/settings.h"
#include "runtime/api/runtime.h"

namespace musubi::runtime {

// Whether the launcher has started this process as a rank, or a process that has since called exec. Any
// thread.
bool is_invited();
// Whether this process is a child of a process that was invited but has not joined. Any thread.
bool is_below_invited();

// In an invited process, before anything else: restarts its program if the kernel has laid out its addresses
// differently from those of the ranks. A wrapper shell may have caused that, for instance by `ulimit -s
// unlimited`.
void start_again_if_misplaced(char** arguments);
// In an invited process that does not join: restores the user's stack limit.
void give_back_stack_limit();

// Errors: a variable MUSUBI_<NAME> that names no setting, or has an invalid value.
Result<config::Settings> read_settings();

// Joins the launcher that has invited this process, and removes the invitation from the environment: programs
// started from here are ordinary processes. Without an invitation: a job of one rank. Blocks until the
// launcher has answered. Errors: those of the bootstrap.
Result<std::unique_ptr<bootstrap::Bootstrap>> join_job();

// Runtime::start; sets current_runtime() to its result. Collective, with the same errors.
Result<std::unique_ptr<Runtime>> start_runtime(const config::Settings& settings,
                                               std::unique_ptr<bootstrap::Bootstrap> bootstrap,
                                               const SharedFromStart& shared);

}  // namespace musubi::runtime
