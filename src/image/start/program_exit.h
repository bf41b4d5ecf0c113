// How a program ends. The job has one exit status, set by the rank that leaves first on its behalf.
//
// - Return from main, exit() on rank 0: exit handlers and destructors run, on rank 0 only; then the job ends.
//
// - exit() and quick_exit() on another rank: the same on that rank, and the job ends without waiting for the
// other ranks. The registered handlers are one list of the job (exit_handlers.h).
//
// - _exit(), _Exit(): the job ends at once.
//
// - pthread_exit() in main: the job continues until the program's other threads have ended, then exit(0).
//
// - abort(), a signal: the launcher sees the process die, and ends the job as a failure.
//
// - The end of the work on other ranks: buffered output is written; no handler runs.
#pragma once

namespace musubi::image {

// Arranges that the job ends after the last exit handler of this process. Call it before any handler is
// registered: they run in reverse order.
void register_end_of_job() noexcept;

// Rank 0, before the program runs: exit handlers of the program run when this process ends.
void run_handlers_at_exit() noexcept;

// Rank 0: the program has ended with `status`. Ends the job together with the other ranks if no parallel
// region is active; otherwise as leave_job. Later calls, and calls in a process that is no rank, have no
// effect.
void end_job(int status) noexcept;

// Any rank, any thread: the job ends with `status`, whatever other ranks are doing. Later calls, and calls in
// a process that is no rank, have no effect.
void leave_job(int status) noexcept;

// quick_exit() on any rank, exit() on a rank other than 0: see the list above.
[[noreturn]] void leave_quickly(int status) noexcept;
[[noreturn]] void leave_other_rank(int status) noexcept;

// A rank other than 0 whose work is done: rank 0 has ended the job with `status`.
[[noreturn]] void leave_worker(int status) noexcept;

}  // namespace musubi::image
