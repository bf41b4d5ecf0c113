// How a program leaves. The job has one exit status, given by the rank that leaves first on its behalf.
//
// - Return from main, exit() on rank 0: exit handlers and destructors run, on rank 0 only; then the job ends.
//
// - exit() and quick_exit() on another rank: the same on that rank, and the job ends without waiting for the
// others. What was registered is one list of the job (exit_handlers.h).
//
// - _exit(), _Exit(): the job ends at once.
//
// - pthread_exit() in main: the job goes on until the program's other threads have ended, then exit(0).
//
// - abort(), a signal: the launcher sees the process die, and ends the job as a failure.
//
// - The end of the work on other ranks: buffered output is written, nothing else runs.
#pragma once

namespace musubi::image {

// Arranges that the job ends after the last of the exit handlers of this process. To be called before anybody
// registers one: they run in reverse order.
void register_end_of_job() noexcept;

// Rank 0, before the program runs: exit handlers of the program run when this process ends.
void run_handlers_at_exit() noexcept;

// Rank 0: the program has ended with `status`. When no parallel region is active, ends the job together with
// the other ranks; else as leave_job. Later calls, and calls in a process that is no rank, do nothing.
void end_job(int status) noexcept;

// Any rank, any thread: the job ends with `status`, whatever the others are doing. Later calls, and calls in
// a process that is no rank, do nothing.
void leave_job(int status) noexcept;

// quick_exit() of any rank, exit() of a rank other than 0: as the list above says.
[[noreturn]] void leave_quickly(int status) noexcept;
[[noreturn]] void leave_other_rank(int status) noexcept;

// A rank other than 0 whose work is done: rank 0 has ended the job with `status`.
[[noreturn]] void leave_worker(int status) noexcept;

}  // namespace musubi::image
