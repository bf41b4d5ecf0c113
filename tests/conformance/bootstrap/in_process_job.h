// A bootstrap whose ranks are threads of one process, on as many hosts as a test says: for the conformance
// suite, and for tests of code that uses a bootstrap.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "bootstrap/bootstrap.h"

namespace musubi::bootstrap {

struct InProcessOutcome {
  int status = 0;
  std::string message;  // text of a failure, without a newline
};

// Thrown by a rank's body to die.
struct RankDies {};

// Runs `body` as each rank, with its place in a job on `hosts`. Returns when every rank has ended. A rank
// that waits in an exchange when the job ends leaves its body by an exception; a rank that calls abort()
// keeps its thread until the process ends.
InProcessOutcome run_in_process(const Hosts& hosts, std::function<void(Bootstrap&)> body);

}  // namespace musubi::bootstrap
