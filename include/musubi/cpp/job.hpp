// Part of musubi.hpp: the job and its threads.
//
//     int main(int argc, char** argv) {
//       musubi::job job(argc, argv);
//       std::jthread helper([] { musubi::attached_thread attached; });
//       helper.join();
//       musubi::barrier();
//       job.exit_status(0);
//     }
#pragma once

#include <musubi/cpp/error.hpp>
#include <musubi/job.h>
#include <musubi/synchronization.h>

#include <exception>

namespace musubi {

// The membership of this process in the job, from construction to destruction. Make one per process, in
// main, before anything else of this header. Construction and destruction are collective and block. Throws
// error (MUSUBI_ERROR_STATE, MUSUBI_ERROR_START).
//
// An exception that leaves the object's scope ends the whole job with one line, because the other ranks
// would wait for this one.
class job {
 public:
  job() : exceptions_(std::uncaught_exceptions()) { require(musubi_init(nullptr, nullptr)); }
  job(int& argc, char**& argv) : exceptions_(std::uncaught_exceptions()) {
    require(musubi_init(&argc, &argv));
  }
  job(const job&) = delete;
  job& operator=(const job&) = delete;
  ~job() {
    if (std::uncaught_exceptions() > exceptions_) musubi_abort(1, "an exception left the scope of the job");
    musubi_finalize(status_);
  }

  // Sets the exit status that this rank passes to musubi_finalize; 0 by default.
  void exit_status(int status) noexcept { status_ = status; }

 private:
  int exceptions_;
  int status_ = 0;
};

// Attaches the thread that makes it, from construction to destruction: the thread may use shared memory.
// The thread that made the job needs none. Throws error (MUSUBI_ERROR_STATE).
class attached_thread {
 public:
  attached_thread() { require(musubi_attach_thread()); }
  attached_thread(const attached_thread&) = delete;
  attached_thread& operator=(const attached_thread&) = delete;
  ~attached_thread() { musubi_detach_thread(); }
};

// The number of this process, and the number of ranks; -1 and 0 outside of a job.
inline int rank() noexcept { return musubi_rank(); }
inline int size() noexcept { return musubi_size(); }

// As musubi_barrier (collective, blocks) and musubi_flush (blocks). Throw error (MUSUBI_ERROR_STATE).
inline void barrier() { require(musubi_barrier()); }
inline void flush() { require(musubi_flush()); }

}  // namespace musubi
