// C++ exceptions: `exceptions caught|uncaught|uncaught_last`. Without arguments they are caught.
#include <stdexcept>
#include <string>
#include <vector>

#include "check.h"

static int caught_in_threads() {
  int caught = 0;
#pragma omp parallel num_threads(8) reduction(+ : caught)
  for (int round = 0; round < 20; ++round) {
    try {
      throw std::runtime_error("from thread " + std::to_string(omp_get_thread_num()));
    } catch (const std::exception& failure) {
      if (failure.what() == "from thread " + std::to_string(omp_get_thread_num())) ++caught;
    }
  }
  return caught;
}

namespace deeds {

[[gnu::noinline]] void throw_out(const std::string& what) {
  throw std::runtime_error(what);
}

}  // namespace deeds

int main(int argc, char** argv) {
  const std::string how = argc > 1 ? argv[1] : "caught";
  if (how == "uncaught") deeds::throw_out("nobody catches this");
  if (how == "uncaught_last") {
#pragma omp parallel
    if (omp_get_thread_num() == omp_get_num_threads() - 1) deeds::throw_out("nobody catches this");
  }
  CHECK(caught_in_threads() == 160);
  return 0;
}
