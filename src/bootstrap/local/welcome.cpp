#include "bootstrap/local/welcome.h"

#include <cstring>

namespace musubi::bootstrap::local {

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
