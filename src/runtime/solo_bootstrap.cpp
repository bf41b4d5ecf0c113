#include "runtime/solo_bootstrap.h"

#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

namespace musubi::runtime {

void SoloBootstrap::abort(int status, std::string_view reason) noexcept {
  iovec parts[] = {{const_cast<char*>("musubi: "), 8},
                   {const_cast<char*>(reason.data()), reason.size()},
                   {const_cast<char*>("\n"), 1}};
  [[maybe_unused]] const ssize_t written = ::writev(2, parts, 3);
  // Not _exit, which a front end may have replaced: it would report an orderly end.
  ::syscall(SYS_exit_group, status);
  __builtin_unreachable();
}

}  // namespace musubi::runtime
