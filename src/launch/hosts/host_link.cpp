#include "launch/hosts/host_link.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "launch/printable.h"
#include "launch/verdict.h"
#include "os/wait_id.h"

namespace musubi::launch {
namespace {

constexpr std::size_t complaints_bytes_max = 4096;

// The last non-empty lines, as one line.
std::string last_words(const std::string& complaints) {
  std::string words;
  std::size_t begin = 0;
  while (begin < complaints.size()) {
    const std::size_t end = std::min(complaints.find('\n', begin), complaints.size());
    std::string line = complaints.substr(begin, end - begin);
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.pop_back();
    if (!line.empty()) words += (words.empty() ? "" : "; ") + printable(line);
    begin = end + 1;
  }
  constexpr std::size_t words_bytes_max = 400;
  return words.size() <= words_bytes_max ? words : "..." + words.substr(words.size() - words_bytes_max);
}

}  // namespace

std::string read_complaints(HostLink& host) {
  std::string shown;
  char bytes[4096];
  while (host.rsh.errors.number() >= 0) {
    const ssize_t count = ::read(host.rsh.errors.number(), bytes, sizeof bytes);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) break;
    if (count <= 0) {
      host.rsh.errors.close();
      break;
    }
    host.complaints.append(bytes, static_cast<std::size_t>(count));
  }
  // Complete lines of Musubi itself are shown at once, not only after a failure.
  std::string rest;
  std::size_t begin = 0;
  for (std::size_t end = 0; (end = host.complaints.find('\n', begin)) != std::string::npos; begin = end + 1) {
    const std::string line = host.complaints.substr(begin, end + 1 - begin);
    if (line.starts_with("musubi: ") && host.serves())
      shown += printable(line);
    else
      rest += line;
  }
  host.complaints = rest + host.complaints.substr(begin);
  if (host.complaints.size() > complaints_bytes_max) {
    host.complaints.erase(0, host.complaints.size() - complaints_bytes_max);
  }
  return shown;
}

std::optional<std::string> rsh_ending(HostLink& host) {
  siginfo_t info{};
  const auto which = static_cast<id_t>(host.rsh.process.number());
  if (::waitid(os::by_descriptor, which, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0) {
    return std::nullopt;
  }
  const std::string how = info.si_code == CLD_EXITED ? "exit status " + std::to_string(info.si_status)
                                                     : describe_signal(info.si_status);
  const std::string words = last_words(host.complaints);
  return words.empty() ? how : how + ": " + words;
}

void hang_up(HostLink& host) {
  host.channel.close();
  if (host.is_called()) signal_rsh(host.rsh, SIGKILL);
}

}  // namespace musubi::launch
