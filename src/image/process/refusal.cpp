#include "image/process/refusal.h"

#include <sys/uio.h>

#include "image/process/real_function.h"

namespace musubi::image {

void refuse(int status, std::string_view reason) noexcept {
  iovec parts[] = {{const_cast<char*>("musubi: "), 8},
                   {const_cast<char*>(reason.data()), reason.size()},
                   {const_cast<char*>("\n"), 1}};
  [[maybe_unused]] const ssize_t written = ::writev(2, parts, 3);
  exit_process(status);
}

}  // namespace musubi::image
