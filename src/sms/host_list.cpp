#include "sms/host_list.h"

#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstring>
#include <fstream>

namespace musubi::sms {
namespace {

std::string name_of_this_host() {
  char name[HOST_NAME_MAX + 1] = {};
  if (::gethostname(name, HOST_NAME_MAX) != 0) return "localhost";
  return name;
}

// The first word of the line, without a comment.
std::string host_in(const std::string& line) {
  const std::string text = line.substr(0, line.find('#'));
  constexpr const char* blanks = " \t\r";
  const std::size_t begin = text.find_first_not_of(blanks);
  if (begin == std::string::npos) return {};
  return text.substr(begin, text.find_first_of(blanks, begin) - begin);
}

}  // namespace

bool is_this_host(std::string_view name, std::string_view own_name) {
  if (name == "localhost" || name == "127.0.0.1" || name == "::1" || name == own_name) return true;
  const bool has_domain = name.find('.') != std::string_view::npos;
  const bool own_has_domain = own_name.find('.') != std::string_view::npos;
  if (has_domain == own_has_domain) return false;
  return name.substr(0, name.find('.')) == own_name.substr(0, own_name.find('.'));
}

Result<HostList> read_host_list(const std::string& path) {
  std::ifstream file(path);
  if (!file) return Error{"the list of hosts " + path + " cannot be read: " + std::strerror(errno)};
  const std::string own_name = name_of_this_host();
  HostList hosts;
  for (std::string line; std::getline(file, line);) {
    const std::string host = host_in(line);
    if (host.empty()) continue;
    ++hosts.lines;
    hosts.has_others = hosts.has_others || !is_this_host(host, own_name);
  }
  if (hosts.lines == 0) return Error{"the list of hosts " + path + " names none: write localhost"};
  return hosts;
}

}  // namespace musubi::sms
