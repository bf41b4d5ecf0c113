// Descriptors on their way between processes of a host: a socket of each rank, to which others send them.
// pidfd_getfd would need no cooperation, but hosts forbid it to processes that are not parent and child.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/result.h"
#include "os/memory.h"

namespace musubi::image {

class DescriptorMail {
 public:
  // Where a rank receives. Bytes, to be sent to others as they are.
  struct Address {
    std::array<char, 24> name{};
    std::uint8_t bytes = 0;
  };

  // Once, first. Errors: no socket.
  Result<void> open();
  const Address& address() const noexcept { return address_; }

  // Sends descriptor `number` to a rank that knows of `ticket`. Result: 0 or an error number. Any thread.
  int send(const Address& to, int number, std::uint64_t ticket) noexcept;
  // The descriptor that was sent under `ticket`, before this call, as a new number of this process that exec
  // closes; -1 when there is none. One thread at a time.
  int receive(std::uint64_t ticket) noexcept;

 private:
  os::FileDescriptor socket_;
  Address address_;
};

}  // namespace musubi::image
