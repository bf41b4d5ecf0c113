#include "launch/job_secret.h"

#include <sys/random.h>

#include <cerrno>
#include <cstring>

namespace musubi::launch {

Result<std::string> make_secret() {
  constexpr std::size_t bytes = 32;
  std::string secret(bytes, '\0');
  ssize_t given = 0;
  while ((given = ::getrandom(secret.data(), bytes, 0)) < 0 && errno == EINTR) {
  }
  if (given != static_cast<ssize_t>(bytes)) {
    return Error{std::string("the kernel gives no random bytes: ") + std::strerror(errno) +
                 "; allow getrandom(2) in the sandbox"};
  }
  return secret;
}

}  // namespace musubi::launch
