// How a program leaves. The job has one exit status, given by the rank that leaves first on its behalf.
//
// - Return from main, exit() on rank 0: exit handlers and destructors run, on rank 0 only; then the job ends.
//
// - exit() on another rank: buffered output is written, and the job ends. Handlers do not run, because the
// objects that they destroy are rank 0's.
//
// - _exit(), _Exit(), quick_exit(): the job ends at once.
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

// Rank 0: the program has ended with `status`. When no parallel region is active, ends the job together with
// the other ranks; else as leave_job. Later calls, and calls in a process that is no rank, do nothing.
void end_job(int status) noexcept;

// Any rank, any thread: the job ends with `status`, whatever the others are doing. Later calls, and calls in
// a process that is no rank, do nothing.
void leave_job(int status) noexcept;

// exit() of a rank other than 0: as the list above says.
[[noreturn]] void leave_other_rank(int status) noexcept;

// A rank other than 0 whose work is done: rank 0 has ended the job with `status`.
[[noreturn]] void leave_worker(int status) noexcept;

}  // namespace musubi::image
