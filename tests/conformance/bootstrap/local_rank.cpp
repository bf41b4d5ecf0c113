// A rank of the conformance suite that `musubi run` starts: `local_rank <act> [arguments...]`.
#include <signal.h>
#include <unistd.h>

#include <cstdio>

#include "bootstrap/local/local_bootstrap.h"
#include "rank_acts.h"

namespace {

void print(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(STDOUT_FILENO, text.data(), text.size());
    if (written > 0) text.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace

int main(int argc, char** argv) {
  auto joined = musubi::bootstrap::LocalBootstrap::join();
  if (!joined) {
    std::fprintf(stderr, "local_rank: %s\n", joined.error().message.c_str());
    return 89;
  }
  musubi::bootstrap::act(
      {*joined.value(), std::vector<std::string>(argv + 1, argv + argc), [] { ::raise(SIGKILL); }, print});
  return 0;
}
