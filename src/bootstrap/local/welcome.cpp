#include "bootstrap/local/welcome.h"

#include <cstring>

namespace musubi::bootstrap::local {

std::string format_welcome(const Welcome& welcome) {
  std::string text(reinterpret_cast<const char*>(welcome.host_of.data()),
                   welcome.host_of.size() * sizeof(std::uint16_t));
  text.append(reinterpret_cast<const char*>(&welcome.carrier), sizeof welcome.carrier);
  return text + welcome.secret;
}

Result<Welcome> parse_welcome(std::string_view text, std::uint32_t ranks) {
  Welcome welcome;
  const std::size_t bytes = ranks * sizeof(std::uint16_t);
  if (text.size() < bytes + sizeof welcome.carrier) {
    return Error{"the launcher sent something unexpected; launcher and runtime must be of one version"};
  }
  welcome.host_of.resize(ranks);
  std::memcpy(welcome.host_of.data(), text.data(), bytes);
  std::memcpy(&welcome.carrier, text.data() + bytes, sizeof welcome.carrier);
  welcome.secret = text.substr(bytes + sizeof welcome.carrier);
  return welcome;
}

}  // namespace musubi::bootstrap::local
