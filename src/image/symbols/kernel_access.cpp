#include "image/symbols/kernel_access.h"

#include <algorithm>
#include <cstring>

namespace musubi::image {

KernelAccess& KernelAccess::touch(const void* pointer, std::size_t bytes, bool for_writing) noexcept {
  const auto address = reinterpret_cast<std::uintptr_t>(pointer);
  if (pointer == nullptr || bytes == 0) return *this;
  if (noted_in_ != nullptr) {
    noted_in_->add(pointer, bytes, for_writing);
    return *this;
  }
  if (!job_.runtime.memory().is_shared(address) && !job_.runtime.memory().is_shared(address + bytes - 1))
    return *this;
  met_shared_ = true;
  job_.runtime.memory().touch(pointer, bytes, for_writing);
  return *this;
}

KernelAccess& KernelAccess::file(int number) noexcept {
  // A child keeps the files that its parent had at the fork.
  const bool concerned = job_.program_runs() && current_job() != nullptr;
  if (!concerned || number < 0) return *this;
  if (!job_.descriptors.make_usable(number)) {
    bad_file_ = true;
  } else if (job_.descriptors.is_far(number)) {
    const Rank rank = job_.descriptors.owner(number);
    if (far_ && *far_ != rank) has_near_file_ = true;
    far_ = rank;
    is_regular_ = job_.descriptors.is_regular(number);
  } else {
    has_near_file_ = true;
  }
  return *this;
}

KernelAccess& KernelAccess::file_if_open(int number) noexcept {
  const bool before = bad_file_;
  file(number);
  bad_file_ = before;
  return *this;
}

KernelAccess& KernelAccess::files(const pollfd* list, nfds_t count) noexcept {
  for (nfds_t i = 0; list != nullptr && i < count; ++i) file_if_open(list[i].fd);
  return *this;
}
KernelAccess& KernelAccess::files(const fd_set* set, int end) noexcept {
  for (int number = 0; set != nullptr && number < std::min(end, FD_SETSIZE); ++number) {
    if (FD_ISSET(number, set)) file_if_open(number);
  }
  return *this;
}

KernelAccess& KernelAccess::text(const char* text) noexcept {
  const bool concerned =
      noted_in_ != nullptr || job_.runtime.memory().is_shared(reinterpret_cast<std::uintptr_t>(text));
  // Reading it here opens it.
  return text == nullptr || !concerned ? *this : reads(text, std::strlen(text) + 1);
}

KernelAccess& KernelAccess::texts(const char* const* list) noexcept {
  std::size_t count = 0;
  for (; list != nullptr && list[count] != nullptr; ++count) text(list[count]);
  return reads(list, (count + 1) * sizeof *list);
}

KernelAccess& KernelAccess::touch_parts(const iovec* parts, long count, bool for_writing) noexcept {
  constexpr long count_max = 1024;  // the kernel refuses more
  if (parts == nullptr || count <= 0 || count > count_max) return *this;
  if (noted_in_ != nullptr) {
    noted_in_->add_parts({parts, static_cast<std::size_t>(count)}, for_writing);
    return *this;
  }
  for (long i = 0; i < count; ++i) touch(parts[i].iov_base, parts[i].iov_len, for_writing);
  return reads(parts, static_cast<std::size_t>(count) * sizeof *parts);
}

KernelAccess& KernelAccess::message(const msghdr* message, bool for_writing) noexcept {
  if (message == nullptr) return *this;
  // The parts are in memory that no argument points to: such a call does not travel.
  if (noted_in_ != nullptr) return touch(message->msg_iov, sizeof(iovec), for_writing);
  touch(message->msg_name, message->msg_namelen, for_writing);
  touch(message->msg_control, message->msg_controllen, for_writing);
  touch_parts(message->msg_iov, static_cast<long>(message->msg_iovlen), for_writing);
  return touch(message, sizeof *message, for_writing);
}

KernelAccess& KernelAccess::messages(const mmsghdr* list, unsigned count, bool for_writing) noexcept {
  constexpr unsigned count_max = 1024;  // the kernel takes no more
  if (list == nullptr) return *this;
  for (unsigned i = 0; i < std::min(count, count_max); ++i) message(&list[i].msg_hdr, for_writing);
  return touch(list, std::min(count, count_max) * sizeof *list, true);
}

KernelAccess& KernelAccess::result_of_varying_size(void* pointer, socklen_t* bytes) noexcept {
  if (bytes == nullptr) return *this;
  return writes(pointer, *bytes).writes(bytes, sizeof *bytes);
}

}  // namespace musubi::image
