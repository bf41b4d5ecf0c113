#include "bootstrap/local/invitation.h"

#include <charconv>
#include <cstdio>
#include <cstring>

namespace musubi::bootstrap::local {
namespace {

template <class Number>
bool take_field(std::string_view& text, std::size_t width, char end, Number& number, int base = 10) {
  const std::size_t length = width + (end == '\0' ? 0 : 1);
  if (text.size() < length || (end != '\0' && text[width] != end) || text[0] == '-') return false;
  const auto [rest, failure] = std::from_chars(text.data(), text.data() + width, number, base);
  if (failure != std::errc{} || rest != text.data() + width) return false;
  text.remove_prefix(length);
  return true;
}

}  // namespace

Result<Invitation> parse_invitation(std::string_view text) {
  Invitation invitation;
  int rank = 0, ranks = 0;
  const bool parsed = take_field(text, 6, ':', invitation.socket) && take_field(text, 4, ':', rank) &&
                      take_field(text, 4, ':', ranks) && take_field(text, 10, ':', invitation.process_id) &&
                      take_field(text, 6, ':', invitation.board) &&
                      take_field(text, 6, ':', invitation.events) &&
                      take_field(text, 16, '\0', invitation.stack_limit, 16);
  if (!parsed || !text.empty() || ranks < 1 || ranks > static_cast<int>(ranks_max) || rank >= ranks) {
    return Error{"MUSUBI_JOB is malformed; it is set by `musubi run` only, never by hand"};
  }
  invitation.rank = Rank(static_cast<std::uint32_t>(rank));
  invitation.ranks = static_cast<std::uint32_t>(ranks);
  return invitation;
}

std::string format_invitation(const Invitation& invitation) {
  char text[100];
  std::snprintf(text, sizeof text, "%06d:%04u:%04u:%010d:%06d:%06d:%016lx", invitation.socket,
                invitation.rank.value, invitation.ranks, invitation.process_id, invitation.board,
                invitation.events, static_cast<unsigned long>(invitation.stack_limit));
  return text;
}

std::string format_welcome(const Welcome& welcome) {
  std::string text(reinterpret_cast<const char*>(welcome.host_of.data()),
                   welcome.host_of.size() * sizeof(std::uint16_t));
  text.append(reinterpret_cast<const char*>(&welcome.carrier), sizeof welcome.carrier);
  const auto processors = static_cast<std::uint32_t>(welcome.processors.size());
  text.append(reinterpret_cast<const char*>(&processors), sizeof processors);
  text.append(reinterpret_cast<const char*>(welcome.processors.data()), processors * sizeof processors);
  return text + welcome.secret;
}

Result<Welcome> parse_welcome(std::string_view text, std::uint32_t ranks) {
  Welcome welcome;
  const auto take = [&](void* part, std::size_t bytes) {
    if (text.size() < bytes) return false;
    std::memcpy(part, text.data(), bytes);
    text.remove_prefix(bytes);
    return true;
  };
  std::uint32_t processors = 0;
  welcome.host_of.resize(ranks);
  bool fits = take(welcome.host_of.data(), ranks * sizeof(std::uint16_t)) &&
              take(&welcome.carrier, sizeof welcome.carrier) && take(&processors, sizeof processors) &&
              processors <= text.size() / sizeof processors;
  if (fits) {
    welcome.processors.resize(processors);
    take(welcome.processors.data(), processors * sizeof processors);
    welcome.secret = text;
    return welcome;
  }
  return Error{"the launcher sent something unexpected; launcher and runtime must have the same version"};
}

}  // namespace musubi::bootstrap::local
