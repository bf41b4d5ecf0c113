#include "omp/place_list.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <string>
#include <utility>

namespace musubi::omp {
namespace {

constexpr std::int64_t number_max = 1 << 16;  // of processors, and of places

std::string without_blanks(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c != ' ' && c != '\t') result += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return result;
}

// Reads a text from its beginning. Each function takes what it has read.
class Text {
 public:
  explicit Text(std::string_view text) : rest_(text) {}

  bool at_end() const { return rest_.empty(); }
  bool take(char c) {
    if (rest_.empty() || rest_[0] != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  std::optional<std::int64_t> number() {
    std::int64_t value = 0;
    const auto parsed = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (parsed.ec != std::errc{} || value < -number_max || value > number_max) return {};
    rest_.remove_prefix(static_cast<std::size_t>(parsed.ptr - rest_.data()));
    return value;
  }
  std::string_view name() {
    std::size_t length = 0;
    while (length < rest_.size() &&
           (std::isalpha(static_cast<unsigned char>(rest_[length])) || rest_[length] == '_'))
      ++length;
    const std::string_view found = rest_.substr(0, length);
    rest_.remove_prefix(length);
    return found;
  }

 private:
  std::string_view rest_;
};

// `:length:stride` after something, each part optional.
struct Repetition {
  std::int64_t length = 1;
  std::int64_t stride = 1;

  static std::optional<Repetition> read(Text& text) {
    Repetition repetition;
    for (std::int64_t* const part : {&repetition.length, &repetition.stride}) {
      if (!text.take(':')) break;
      const auto value = text.number();
      if (!value) return {};
      *part = *value;
    }
    if (repetition.length < 1) return {};
    return repetition;
  }
};

void add(os::Processors& place, std::uint32_t processor) {
  const auto at = std::ranges::lower_bound(place, processor);
  if (at == place.end() || *at != processor) place.insert(at, processor);
}

// A number, with repetitions, or one that is left out.
bool read_resource(Text& text, os::Processors& place, os::Processors& left_out) {
  const bool excludes = text.take('!');
  const auto number = text.number();
  if (!number || *number < 0) return false;
  if (excludes) {
    add(left_out, static_cast<std::uint32_t>(*number));
    return true;
  }
  const auto repetition = Repetition::read(text);
  if (!repetition) return false;
  for (std::int64_t i = 0; i < repetition->length; ++i) {
    const std::int64_t processor = *number + i * repetition->stride;
    if (processor < 0 || processor > number_max) return false;
    add(place, static_cast<std::uint32_t>(processor));
  }
  return true;
}

std::optional<os::Processors> read_place(Text& text) {
  os::Processors place, left_out;
  if (text.take('{')) {
    do {
      if (!read_resource(text, place, left_out)) return {};
    } while (text.take(','));
    if (!text.take('}')) return {};
    std::erase_if(place,
                  [&](std::uint32_t processor) { return std::ranges::binary_search(left_out, processor); });
    return place;
  }
  const auto number = text.number();
  if (!number || *number < 0) return {};
  return os::Processors{static_cast<std::uint32_t>(*number)};
}

// The place shifted by a number of processors; nothing: one would have no number.
std::optional<os::Processors> shifted(const os::Processors& place, std::int64_t by) {
  os::Processors result;
  for (const std::uint32_t processor : place) {
    const std::int64_t number = std::int64_t{processor} + by;
    if (number < 0 || number > number_max) return {};
    result.push_back(static_cast<std::uint32_t>(number));
  }
  return result;
}

bool read_places(Text& text, std::vector<os::Processors>& places) {
  const bool excludes = text.take('!');
  const auto place = read_place(text);
  if (!place || place->empty()) return false;
  if (excludes) {
    std::erase(places, *place);
    return true;
  }
  const auto repetition = Repetition::read(text);
  if (!repetition) return false;
  for (std::int64_t i = 0; i < repetition->length; ++i) {
    auto next = shifted(*place, i * repetition->stride);
    if (!next) return false;
    places.push_back(std::move(*next));
  }
  return true;
}

std::optional<PlaceList> read_kind(Text& text) {
  using Group = os::ProcessorGroup;
  constexpr std::array<std::pair<std::string_view, Group>, 5> kinds{{{"threads", Group::threads},
                                                                     {"cores", Group::cores},
                                                                     {"ll_caches", Group::ll_caches},
                                                                     {"numa_domains", Group::numa_domains},
                                                                     {"sockets", Group::sockets}}};
  const std::string_view name = text.name();
  const auto found = std::ranges::find(kinds, name, [](const auto& kind) { return kind.first; });
  if (found == kinds.end()) return {};
  PlaceList list;
  list.kind = found->second;
  if (text.take('(')) {
    const auto count = text.number();
    if (!count || *count < 1 || !text.take(')')) return {};
    list.count_max = static_cast<std::uint32_t>(*count);
  }
  return list;
}

}  // namespace

std::optional<PlaceList> parse_places(std::string_view given) {
  const std::string plain = without_blanks(given);
  Text text(plain);
  PlaceList list;
  if (!plain.empty() && std::isalpha(static_cast<unsigned char>(plain[0]))) {
    auto of_kind = read_kind(text);
    if (!of_kind) return {};
    list = std::move(*of_kind);
  } else {
    do {
      if (!read_places(text, list.places)) return {};
    } while (text.take(','));
    if (list.places.empty()) return {};
  }
  if (!text.at_end()) return {};
  list.text = given;
  return list;
}

std::optional<std::vector<ProcBind>> parse_bind_list(std::string_view given) {
  constexpr std::array<std::pair<std::string_view, ProcBind>, 4> policies{{{"master", ProcBind::primary},
                                                                           {"primary", ProcBind::primary},
                                                                           {"close", ProcBind::close},
                                                                           {"spread", ProcBind::spread}}};
  const std::string plain = without_blanks(given);
  if (plain == "true") return std::vector<ProcBind>{ProcBind::yes};
  if (plain == "false") return std::vector<ProcBind>{ProcBind::no};
  Text text(plain);
  std::vector<ProcBind> binds;
  do {
    const std::string_view name = text.name();
    const auto found = std::ranges::find(policies, name, [](const auto& policy) { return policy.first; });
    if (found == policies.end()) return {};
    binds.push_back(found->second);
  } while (text.take(','));
  if (!text.at_end()) return {};
  return binds;
}

std::vector<os::Processors> places_among(const PlaceList& list, const os::Processors& processors) {
  std::vector<os::Processors> places;
  if (list.kind) {
    places = os::processor_groups(*list.kind, processors);
    if (list.count_max != 0 && places.size() > list.count_max) places.resize(list.count_max);
  }
  for (const os::Processors& wanted : list.places) {
    os::Processors place;
    std::ranges::set_intersection(wanted, processors, std::back_inserter(place));
    if (!place.empty()) places.push_back(std::move(place));
  }
  if (places.empty()) places.push_back(processors);
  return places;
}

}  // namespace musubi::omp
