#include "image/objects/descriptor_mail.h"

#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

namespace musubi::image {
namespace {

// A control message that holds one descriptor.
union Control {
  cmsghdr header;
  char bytes[CMSG_SPACE(sizeof(int))];
};

// Direct system calls: the wrappers that the program uses look the descriptors up first.
ssize_t send_message(int socket, const msghdr& message) noexcept {
  return ::syscall(SYS_sendmsg, socket, &message, MSG_NOSIGNAL);
}
ssize_t receive_message(int socket, msghdr& message) noexcept {
  return ::syscall(SYS_recvmsg, socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
}

}  // namespace

Result<void> DescriptorMail::open() {
  socket_ =
      os::FileDescriptor(static_cast<int>(::syscall(SYS_socket, AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)));
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  socklen_t bytes = sizeof name.sun_family;  // the kernel chooses a free abstract name
  if (socket_.number() < 0 || ::syscall(SYS_bind, socket_.number(), &name, bytes) != 0) {
    return Error{std::string("no socket to pass files between ranks: ") + ::strerror(errno)};
  }
  bytes = sizeof name;
  ::syscall(SYS_getsockname, socket_.number(), &name, &bytes);
  address_.bytes = static_cast<std::uint8_t>(bytes - offsetof(sockaddr_un, sun_path));
  MUSUBI_CHECK(address_.bytes <= address_.name.size());
  std::memcpy(address_.name.data(), name.sun_path, address_.bytes);
  return {};
}

int DescriptorMail::send(const Address& to, int number, std::uint64_t ticket) noexcept {
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  std::memcpy(name.sun_path, to.name.data(), to.bytes);
  iovec part{&ticket, sizeof ticket};
  Control control{};
  msghdr message{};
  message.msg_name = &name;
  message.msg_namelen = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + to.bytes);
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = &control;
  message.msg_controllen = sizeof control;
  cmsghdr* const header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof number);
  std::memcpy(CMSG_DATA(header), &number, sizeof number);
  return send_message(socket_.number(), message) < 0 ? errno : 0;
}

int DescriptorMail::receive(std::uint64_t ticket) noexcept {
  while (true) {
    std::uint64_t got = 0;
    iovec part{&got, sizeof got};
    Control control{};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = &control;
    message.msg_controllen = sizeof control;
    const ssize_t bytes = receive_message(socket_.number(), message);
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes < 0) return -1;
    const cmsghdr* const header = CMSG_FIRSTHDR(&message);
    if (header == nullptr || header->cmsg_type != SCM_RIGHTS) continue;
    int number;
    std::memcpy(&number, CMSG_DATA(header), sizeof number);
    if (bytes == sizeof got && got == ticket) return number;
    ::syscall(SYS_close, number);  // no rank asked for it
  }
}

}  // namespace musubi::image
