#include "launch/hosts/launcher/hosts_plan.h"

#include <algorithm>
#include <charconv>

#include "bootstrap/local/invitation.h"
#include "launch/output_sink.h"

namespace musubi::launch {
namespace {

using bootstrap::local::ranks_max;

Error wrong(std::string_view word) {
  return Error{"'" + printable(word) +
               "' is not a host: give host, or host:ranks, as in h1:2; a name has letters, digits and . _ : "
               "@ % - alone"};
}

std::optional<std::uint32_t> number(std::string_view text) {
  std::uint32_t value = 0;
  const auto [rest, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure != std::errc{} || rest != text.data() + text.size()) return std::nullopt;
  return value >= 1 && value <= ranks_max ? std::optional(value) : std::nullopt;
}

// The rsh command gets the name as a separate word, and may pass it to a shell (as ssh's ProxyCommand does).
// A name that begins with '-', also after a user name, would be an option.
bool is_name(std::string_view name) {
  constexpr std::string_view allowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._:@%-";
  return !name.empty() && name.front() != '-' && name.find("@-") == std::string_view::npos &&
         name.find_first_not_of(allowed) == std::string_view::npos;
}

// `h1`, `h1:2`, `[fe80::1]`, `[fe80::1]:2`.
Result<HostSlots> parse_host(std::string_view word) {
  HostSlots host;
  std::string_view name = word, slots;
  if (const std::size_t bracket = word.find(']'); bracket != std::string_view::npos) {
    name = word.substr(0, bracket + 1);
    if (bracket + 1 < word.size()) {
      if (word[bracket + 1] != ':') return wrong(word);
      slots = word.substr(bracket + 2);
      if (slots.empty()) return wrong(word);
    }
    const std::size_t opening = name.find('[');
    if (opening == std::string_view::npos) return wrong(word);
    host.name = std::string(name.substr(0, opening)) +
                std::string(name.substr(opening + 1, name.size() - opening - 2));
  } else {
    const std::size_t colon = word.find(':');
    name = word.substr(0, colon);
    host.name = name;
    if (colon != std::string_view::npos) {
      slots = word.substr(colon + 1);
      if (slots.empty()) return wrong(word);
    }
  }
  if (!is_name(host.name)) return wrong(word);
  if (!slots.empty()) {
    const auto count = number(slots);
    if (!count) return wrong(word);
    host.slots = *count;
  }
  return host;
}

void add(std::vector<HostSlots>& hosts, HostSlots host) {
  const auto known = std::ranges::find(hosts, host.name, &HostSlots::name);
  if (known == hosts.end())
    hosts.push_back(std::move(host));
  else
    known->slots += host.slots;
}

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  constexpr std::string_view blanks = " \t\r";
  while (true) {
    const std::size_t begin = line.find_first_not_of(blanks);
    if (begin == std::string_view::npos) return words;
    line.remove_prefix(begin);
    const std::size_t end = std::min(line.find_first_of(blanks), line.size());
    words.push_back(line.substr(0, end));
    line.remove_prefix(end);
  }
}

Result<HostSlots> parse_line(const std::vector<std::string_view>& words) {
  MUSUBI_ASSIGN_OR_RETURN(auto host, parse_host(words[0]));
  for (std::size_t i = 1; i < words.size(); ++i) {
    constexpr std::string_view slots = "slots=", bound = "max_slots=", dashed = "max-slots=";
    if (words[i].starts_with(bound) || words[i].starts_with(dashed)) continue;
    const auto count = words[i].starts_with(slots) ? number(words[i].substr(slots.size())) : std::nullopt;
    if (!count) return Error{"'" + std::string(words[i]) + "' is not understood: give slots=NUMBER"};
    host.slots = *count;
  }
  return host;
}

}  // namespace

Result<std::vector<HostSlots>> parse_hosts(std::string_view text) {
  std::vector<HostSlots> hosts;
  while (true) {
    const std::size_t comma = text.find(',');
    MUSUBI_ASSIGN_OR_RETURN(auto host, parse_host(text.substr(0, comma)));
    add(hosts, std::move(host));
    if (comma == std::string_view::npos) return hosts;
    text.remove_prefix(comma + 1);
  }
}

Result<std::vector<HostSlots>> parse_host_file(std::string_view contents) {
  std::vector<HostSlots> hosts;
  for (std::size_t line = 1; !contents.empty(); ++line) {
    const std::size_t end = std::min(contents.find('\n'), contents.size());
    const std::string_view text = contents.substr(0, end);
    const auto words = words_of(text.substr(0, text.find('#')));
    contents.remove_prefix(std::min(end + 1, contents.size()));
    if (words.empty()) continue;
    auto host = parse_line(words);
    if (!host) return Error{"line " + std::to_string(line) + ": " + host.error().message};
    add(hosts, std::move(host).value());
  }
  if (hosts.empty()) return Error{"it names no host"};
  return hosts;
}

}  // namespace musubi::launch
