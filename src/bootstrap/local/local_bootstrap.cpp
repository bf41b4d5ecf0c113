#include "bootstrap/local/local_bootstrap.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "bootstrap/local/address_layout.h"
#include "bootstrap/local/frame.h"
#include "bootstrap/local/inherited_memory.h"
#include "bootstrap/local/invitation.h"
#include "config/environment.h"
#include "os/binding.h"
#include "os/clock.h"

namespace musubi::bootstrap {
namespace {

using namespace local;

bool is_packet_socket(int descriptor) {
  int type = 0;
  socklen_t length = sizeof type;
  return ::getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &type, &length) == 0 && type == SOCK_SEQPACKET;
}

// Moves the socket away from the numbers that the program's own open() would get, and closes it on exec.
int move_aside(int descriptor) {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  const auto lowest = static_cast<int>(std::clamp<rlim_t>(limit.rlim_cur, 128, 4096) - 64);
  const int moved = ::fcntl(descriptor, F_DUPFD_CLOEXEC, lowest);
  if (moved < 0) {
    ::fcntl(descriptor, F_SETFD, FD_CLOEXEC);
    return descriptor;
  }
  ::close(descriptor);
  return moved;
}

Error launcher_gone() {
  return Error{"the launcher of this job is gone; start the program again with `musubi run`"};
}

Error unexpected() {
  return Error{"the launcher sent something unexpected; launcher and runtime must have the same version"};
}

Result<Welcome> receive_welcome(int socket, std::uint32_t ranks) {
  Frame frame;
  const Received received = receive_frame(socket, false, frame);
  if (received == Received::closed) return launcher_gone();
  if (received != Received::frame || frame.kind != FrameKind::welcome) return unexpected();
  return parse_welcome(frame.body, ranks);
}

Hosts hosts_of(const Welcome& welcome) {
  std::vector<std::string> places;
  for (const std::uint16_t host : welcome.host_of) places.push_back(std::to_string(host));
  return Hosts::by_place(places);
}

}  // namespace

bool LocalBootstrap::invited() {
  const auto text = config::environment_variable(config::job_variable);
  if (!text) return false;
  auto invitation = parse_invitation(*text);
  return invitation.ok() && invitation.value().process_id == ::getpid();
}

Result<std::unique_ptr<LocalBootstrap>> LocalBootstrap::join() {
  const auto text = config::environment_variable(config::job_variable);
  if (!text) return Error{"this process is not part of a job; start the program with `musubi run`"};
  MUSUBI_ASSIGN_OR_RETURN(const Invitation invitation, parse_invitation(*text));
  if (invitation.process_id != ::getpid()) {
    return Error{
        "this process was started by a rank, but is not a rank; start it without Musubi's libraries"};
  }
  if (!is_packet_socket(invitation.socket)) {
    return Error{
        "the launcher's socket was closed before the program joined the job; keep inherited files open"};
  }
  set_stack_limit(invitation.stack_limit);
  os::FileDescriptor socket(move_aside(invitation.socket));
  if (send_frame(socket.number(), FrameKind::join, 0, 0, {}, false) != 0) return launcher_gone();
  MUSUBI_ASSIGN_OR_RETURN(auto welcome, receive_welcome(socket.number(), invitation.ranks));
  os::bind_process(welcome.processors);
  return std::unique_ptr<LocalBootstrap>(
      new LocalBootstrap(std::move(socket), invitation.rank, hosts_of(welcome), welcome.secret,
                         welcome.carrier, open_wait_board(invitation.board, invitation.rank),
                         open_event_log(invitation.events, invitation.rank, invitation.ranks)));
}

Result<std::vector<std::string>> LocalBootstrap::all_gather(std::string_view blob) {
  if (blob.size() > blob_bytes_max) {
    return Error{"a rank gave " + std::to_string(blob.size()) +
                 " bytes to an all-gather; at most 1 MiB fits"};
  }
  const std::uint64_t total = blob.size();
  do {
    const std::string_view piece = blob.substr(0, frame_body_bytes_max);
    if (send_frame(socket_.number(), FrameKind::gather, 0, total, piece, false) != 0) return launcher_gone();
    blob.remove_prefix(piece.size());
  } while (!blob.empty());

  BlobAssembler gathered(gathered_bytes_max);
  while (!gathered.complete()) {
    Frame frame;
    const Received received = receive_frame(socket_.number(), false, frame);
    if (received == Received::closed) return launcher_gone();
    if (received != Received::frame || frame.kind != FrameKind::gathered || !gathered.add(frame)) {
      return unexpected();
    }
  }
  std::vector<std::string> blobs = split_gathered(gathered.take(), ranks());
  if (blobs.empty()) {
    return Error{
        "the launcher gathered a wrong number of blobs; launcher and runtime must have the same version"};
  }
  return blobs;
}

void LocalBootstrap::tell_crash(std::string_view cause) noexcept {
  send_frame(socket_.number(), FrameKind::crash_cause, 0, 0, cause.substr(0, frame_body_bytes_max), false);
}

bool LocalBootstrap::tell_frames(std::span<const std::uintptr_t> frames) noexcept {
  const std::string_view body(reinterpret_cast<const char*>(frames.data()), frames.size_bytes());
  if (send_frame(socket_.number(), FrameKind::crash_frames, 0, 0, body, false) != 0) return false;
  constexpr int patience_ms = 10'000;  // debug information of large programs takes a while
  const std::uint64_t deadline_ns = os::monotonic_ns() + std::uint64_t{patience_ms} * 1'000'000;
  while (os::monotonic_ns() < deadline_ns) {
    pollfd answer{socket_.number(), POLLIN, 0};
    if (::poll(&answer, 1, patience_ms) <= 0 || (answer.revents & POLLIN) == 0) return false;
    if (receive_kind(socket_.number()) == FrameKind::crash_told) return true;
  }
  return false;
}

void LocalBootstrap::finish(int status) noexcept {
  const int saved_errno = errno;
  send_frame(socket_.number(), FrameKind::finish, status, 0, {}, false);
  errno = saved_errno;
}

void LocalBootstrap::abort(int status, std::string_view reason) noexcept {
  constexpr std::size_t reason_bytes_max = 1024;
  send_frame(socket_.number(), FrameKind::abort, status, 0, reason.substr(0, reason_bytes_max), false);
  // Not _exit: a front end may have replaced it, and would report an orderly end.
  ::syscall(SYS_exit_group, status);
  __builtin_unreachable();
}

}  // namespace musubi::bootstrap
