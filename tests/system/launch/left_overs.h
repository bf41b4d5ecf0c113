// Possible remains of a job: processes, memory that one of them still holds, files.
#pragma once

#include <sys/types.h>

#include <set>
#include <string>
#include <vector>

#include "launched_job.h"

namespace musubi::test {

// Look at a job while it runs, then ask for its remains when it has ended. Other jobs on the machine do not
// count.
class LeftOvers {
 public:
  // Records the objects that the job's processes have open or mapped now: memory files and sockets, which
  // have no names, and files with Musubi's.
  void look_at(const LaunchedJob& job);

  // A line for each recorded object that a process still has, for each file that still exists, and for each
  // process of the job. Waits some seconds for the kernel. Empty: nothing is left.
  std::string of(const LaunchedJob& job) const;

  std::size_t noted() const { return things_.size() + files_.size(); }

 private:
  std::set<std::string> things_;  // "memfd <inode>", "socket:[<inode>]"
  std::set<std::string> files_;   // paths
};

}  // namespace musubi::test
