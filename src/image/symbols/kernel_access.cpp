#include "image/symbols/kernel_access.h"

#include <cstring>

namespace musubi::image {

KernelAccess& KernelAccess::touch(const void* pointer, std::size_t bytes, bool for_writing) noexcept {
  const auto address = reinterpret_cast<std::uintptr_t>(pointer);
  if (pointer == nullptr || bytes == 0) return *this;
  if (!runtime_.is_shared(address) && !runtime_.is_shared(address + bytes - 1)) return *this;
  met_shared_ = true;
  runtime_.touch(pointer, bytes, for_writing);
  return *this;
}

KernelAccess& KernelAccess::text(const char* text) noexcept {
  // Reading it here opens it.
  return text == nullptr ? *this : reads(text, std::strlen(text) + 1);
}

KernelAccess& KernelAccess::texts(const char* const* list) noexcept {
  std::size_t count = 0;
  for (; list != nullptr && list[count] != nullptr; ++count) text(list[count]);
  return reads(list, (count + 1) * sizeof *list);
}

KernelAccess& KernelAccess::touch_parts(const iovec* parts, long count, bool for_writing) noexcept {
  constexpr long count_max = 1024;  // more is refused by the kernel
  if (parts == nullptr || count <= 0 || count > count_max) return *this;
  for (long i = 0; i < count; ++i) touch(parts[i].iov_base, parts[i].iov_len, for_writing);
  return reads(parts, static_cast<std::size_t>(count) * sizeof *parts);
}

KernelAccess& KernelAccess::message(const msghdr* message, bool for_writing) noexcept {
  if (message == nullptr) return *this;
  touch(message->msg_name, message->msg_namelen, for_writing);
  touch(message->msg_control, message->msg_controllen, for_writing);
  touch_parts(message->msg_iov, static_cast<long>(message->msg_iovlen), for_writing);
  return touch(message, sizeof *message, for_writing);
}

KernelAccess& KernelAccess::result_of_varying_size(void* pointer, socklen_t* bytes) noexcept {
  if (bytes == nullptr) return *this;
  return writes(pointer, *bytes).writes(bytes, sizeof *bytes);
}

}  // namespace musubi::image
