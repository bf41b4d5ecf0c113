// Passes descriptors between the processes of a host: each rank has a socket that other ranks send them to.
// pidfd_getfd would need no cooperation, but hosts forbid it unless the processes are parent and child.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/result.h"
#include "os/memory.h"

namespace musubi::image {

class DescriptorMail {
 public:
  // Name of a rank's socket, sent to other ranks as bytes.
  struct Address {
    std::array<char, 24> name{};
    std::uint8_t bytes = 0;
  };

  // Call once, first. Errors: no socket.
  Result<void> open();
  const Address& address() const noexcept { return address_; }

  // Sends descriptor `number` to a rank that expects `ticket`. Result: 0 or an error number. Any thread.
  int send(const Address& to, int number, std::uint64_t ticket) noexcept;
  // The descriptor sent under `ticket` before this call, as a new close-on-exec number of this process; -1 if
  // there is none. One thread at a time.
  int receive(std::uint64_t ticket) noexcept;

 private:
  os::FileDescriptor socket_;
  Address address_;
};

}  // namespace musubi::image
