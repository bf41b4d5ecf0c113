#include "image/constructor_output.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>

namespace musubi::image {

void ConstructorOutput::drop() noexcept {
  constexpr int lowest = 100;  // out of the way of programs that expect the first free number
  const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (nowhere < 0) return;
  kept_ = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, lowest);
  if (kept_ >= 0) ::dup2(nowhere, STDOUT_FILENO);
  ::close(nowhere);
}

void ConstructorOutput::restore() noexcept {
  if (kept_ < 0) return;
  std::fflush(stdout);
  ::dup2(kept_, STDOUT_FILENO);
  ::close(kept_);
  kept_ = -1;
}

}  // namespace musubi::image
