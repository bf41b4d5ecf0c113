
#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <climits>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sms/host_list.h"
#include "sms/job.h"

namespace musubi::sms {
namespace {

constexpr const char* own_name = "sms_startup";
constexpr const char* all_options = "-n <processes>, -f <list of hosts>, -r <command in place of ssh>";

struct Options {
  std::optional<std::uint32_t> processes;
  std::string host_list;
  std::string remote_shell;  // empty: ssh
};

std::uint32_t number_in(const std::string& text) {
  std::uint32_t number = 0;
  const auto [rest, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failure != std::errc{} || rest != text.data() + text.size() || number == 0)
    refuse(own_name, "-n `" + text + "` is not a number of processes: give 1 or more");
  return number;
}

Options read_options(const std::vector<std::string>& words) {
  Options options;
  for (std::size_t i = 0; i < words.size(); i += 2) {
    const std::string& name = words[i];
    if (name != "-n" && name != "-f" && name != "-r")
      refuse(own_name, "`" + name + "` after -- is not an option of SMS: " + all_options + " are");
    if (i + 1 == words.size()) refuse(own_name, name + " lacks its value: " + all_options);
    if (name == "-n") options.processes = number_in(words[i + 1]);
    if (name == "-f") options.host_list = words[i + 1];
    if (name == "-r") options.remote_shell = words[i + 1];
  }
  return options;
}

// The arguments of `musubi run` that place the processes. There may be more processes than lines if the list
// has only this host.
std::vector<std::string> places(const Options& options) {
  HostList hosts{options.processes.value_or(1), false};
  if (!options.host_list.empty()) {
    auto read = read_host_list(options.host_list);
    if (!read) refuse(own_name, read.error().message);
    hosts = read.value();
  }
  const bool calls_hosts = hosts.has_others || !options.remote_shell.empty();
  std::vector<std::string> words{"-n", std::to_string(options.processes.value_or(hosts.lines))};
  if (!calls_hosts) return words;
  if (options.host_list.empty()) refuse(own_name, "-r needs a list of hosts: give -f <list of hosts>");
  words.insert(words.end(), {"--hostfile", options.host_list});
  if (!options.remote_shell.empty()) words.insert(words.end(), {"--rsh", options.remote_shell});
  return words;
}

// The command is <prefix>/bin/musubi and this library is in <prefix>/lib, so that an installation may be
// moved; otherwise the command is searched in PATH.
std::string path_of_command() {
  Dl_info here;
  if (::dladdr(reinterpret_cast<void*>(&start_others_if_asked), &here) != 0) {
    const std::string library = here.dli_fname;
    const std::size_t name = library.rfind('/');
    const std::string folder = name == std::string::npos ? "." : library.substr(0, name);
    const std::string command = folder + "/../bin/musubi";
    if (::access(command.c_str(), X_OK) == 0) return command;
  }
  return "musubi";
}

std::string path_of_program() {
  char path[PATH_MAX];
  const ssize_t bytes = ::readlink("/proc/self/exe", path, sizeof path);
  if (bytes <= 0) refuse(own_name, "/proc/self/exe cannot be read: mount /proc");
  return {path, static_cast<std::size_t>(bytes)};
}

}  // namespace

void start_others_if_asked(int argc, char** argv) {
  if (argv == nullptr || argc < 1) return;
  const std::vector<std::string> words(argv, argv + argc);
  const auto found = std::find(words.rbegin(), words.rend(), "--");
  if (found == words.rend()) return;
  const auto end = found.base() - 1;
  std::vector<std::string> command{path_of_command(), "run"};
  for (const std::string& word : places(read_options({end + 1, words.end()}))) command.push_back(word);
  command.insert(command.end(), {"--", path_of_program()});
  command.insert(command.end(), words.begin() + 1, end);
  std::vector<char*> arguments;
  for (std::string& word : command) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  std::fflush(nullptr);
  ::execvp(arguments[0], arguments.data());
  refuse(own_name, std::string("the command musubi, which starts processes, cannot be executed (") +
                       std::strerror(errno) + "): add its folder to PATH");
}

}  // namespace musubi::sms
