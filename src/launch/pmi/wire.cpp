#include "launch/pmi/wire.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

namespace musubi::launch {
namespace {

constexpr std::size_t line_bytes_max = 64 * 1024;

// A field of a line such as `cmd=get_result rc=0 msg=success value=12`. A value ends at a space or at the
// end.
std::optional<std::string> field(std::string_view line, std::string_view name) {
  for (std::size_t at = 0; at < line.size();) {
    const std::size_t end = std::min(line.find(' ', at), line.size());
    const std::string_view word = line.substr(at, end - at);
    const std::size_t equals = word.find('=');
    if (equals != std::string_view::npos && word.substr(0, equals) == name) {
      return std::string(word.substr(equals + 1));
    }
    at = end + 1;
  }
  return std::nullopt;
}

std::string key_of(std::uint32_t rank, std::string_view key) {
  return "musubi-" + std::to_string(rank) + "-" + std::string(key);
}

Error gone(const char* how) {
  return Error{std::string("the launcher that has started this process ") + how +
               " in the middle of PMI-1; start the job again"};
}

Error not_understood(const std::string& command, const std::string& line) {
  return Error{"the launcher that has started this process answered \"" + line.substr(0, 100) + "\" to \"" +
               command.substr(0, 100) +
               "\" of PMI-1, which is not understood; try another one, or `musubi run --hosts`"};
}

}  // namespace

Result<std::unique_ptr<KeyValues>> PmiWire::join(os::FileDescriptor socket, std::uint32_t rank,
                                                 std::uint32_t ranks) {
  std::unique_ptr<PmiWire> wire(new PmiWire(std::move(socket), rank, ranks));
  auto joined = wire->ask("cmd=init pmi_version=1 pmi_subversion=1", "response_to_init");
  if (!joined) return joined.error();
  MUSUBI_ASSIGN_OR_RETURN(auto named, wire->ask("cmd=get_my_kvsname", "my_kvsname"));
  const auto name = field(named, "kvsname");
  if (!name) return not_understood("cmd=get_my_kvsname", named);
  wire->space_ = *name;
  return std::unique_ptr<KeyValues>(std::move(wire));
}

Result<void> PmiWire::put(std::string_view key, std::string_view value) {
  MUSUBI_CHECK(value.size() <= value_bytes_max && value.find_first_of(" \n") == std::string_view::npos,
               "a value that PMI-1 carries");
  auto put = ask("cmd=put kvsname=" + space_ + " key=" + key_of(rank_, key) + " value=" + std::string(value),
                 "put_result");
  if (!put) return put.error();
  return {};
}

Result<void> PmiWire::fence() {
  if (auto out = ask("cmd=barrier_in", "barrier_out"); !out) return out.error();
  return {};
}

Result<std::string> PmiWire::get(std::uint32_t rank, std::string_view key) {
  const std::string command = "cmd=get kvsname=" + space_ + " key=" + key_of(rank, key);
  MUSUBI_ASSIGN_OR_RETURN(auto got, ask(command, "get_result"));
  auto value = field(got, "value");
  if (!value) return not_understood(command, got);
  return *value;
}

Result<void> PmiWire::leave() {
  auto left = ask("cmd=finalize", "finalize_ack");
  socket_.close();
  if (!left) return left.error();
  return {};
}

Result<std::string> PmiWire::ask(const std::string& command, std::string_view answer) {
  const std::string text = command + "\n";
  for (std::size_t sent = 0; sent < text.size();) {
    const ssize_t bytes = ::send(socket_.number(), text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes <= 0) return gone("stopped listening");
    sent += static_cast<std::size_t>(bytes);
  }
  auto line = read_line();
  if (!line) return line;
  const auto code = field(line.value(), "rc");
  if (field(line.value(), "cmd") != answer || (code && *code != "0")) {
    return not_understood(command, line.value());
  }
  return line;
}

Result<std::string> PmiWire::read_line() {
  std::size_t end = 0;
  while ((end = received_.find('\n')) == std::string::npos) {
    char bytes[4096];
    const ssize_t count = ::read(socket_.number(), bytes, sizeof bytes);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0 || received_.size() > line_bytes_max) return gone("stopped answering");
    received_.append(bytes, static_cast<std::size_t>(count));
  }
  std::string line = received_.substr(0, end);
  received_.erase(0, end + 1);
  return line;
}

}  // namespace musubi::launch
