#include "config/value.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <span>

namespace musubi::config {
namespace {

struct Unit {
  std::string_view name;
  std::uint64_t factor;
};
// Largest first: formatting takes the first unit that divides the value.
constexpr Unit byte_units[] = {{"TiB", TiB}, {"GiB", GiB}, {"MiB", MiB}, {"KiB", KiB}, {"B", 1}};
constexpr Unit time_units[] = {
    {"min", 60'000'000'000}, {"s", 1'000'000'000}, {"ms", 1'000'000}, {"us", 1'000}, {"ns", 1}};

constexpr Unit rate_units[] = {{"Gbps", 1'000'000'000}, {"Mbps", 1'000'000}, {"Kbps", 1'000}, {"bps", 1}};

// Splits off the leading decimal number. Refuses signs, blanks and leading zeros (is 010 ten or eight?).
std::optional<std::uint64_t> take_number(std::string_view& text) {
  std::uint64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [rest, failure] = std::from_chars(text.data(), end, number);
  if (failure != std::errc{}) return std::nullopt;
  if (text[0] == '0' && rest - text.data() > 1) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(rest - text.data()));
  return number;
}

std::optional<std::uint64_t> parse_count(std::string_view text) {
  const auto number = take_number(text);
  return text.empty() ? number : std::nullopt;
}

std::optional<std::uint64_t> parse_with_unit(std::string_view text, std::span<const Unit> units,
                                             bool bare_allowed) {
  const auto number = take_number(text);
  if (!number) return std::nullopt;
  if (text.empty()) return bare_allowed || *number == 0 ? number : std::nullopt;
  for (const Unit& unit : units) {
    if (text != unit.name) continue;
    std::uint64_t product = 0;
    if (__builtin_mul_overflow(*number, unit.factor, &product)) return std::nullopt;
    return product;
  }
  return std::nullopt;
}

std::string format_with_unit(std::uint64_t number, std::span<const Unit> units) {
  if (number == 0) return "0";
  for (const Unit& unit : units) {
    if (number % unit.factor == 0) return std::to_string(number / unit.factor) + std::string(unit.name);
  }
  return std::to_string(number);
}

std::string format_number(Kind kind, std::uint64_t number) {
  switch (kind) {
    case Kind::bytes:
    case Kind::block_bytes:
    case Kind::automatic_bytes:
      return format_with_unit(number, byte_units);
    case Kind::duration:
      return format_with_unit(number, time_units);
    case Kind::bit_rate:
      return format_with_unit(number, rate_units);
    default:
      return std::to_string(number);
  }
}

// For messages and pages.
struct Form {
  std::string_view expected;
  std::string_view range = {};  // empty: from the declaration
};

Form form_of(Kind kind) {
  switch (kind) {
    case Kind::bytes:
    case Kind::block_bytes:
      return {"a whole number with an optional unit B, KiB, MiB, GiB or TiB"};
    case Kind::automatic_bytes:
      return {"a whole number with an optional unit B, KiB, MiB, GiB or TiB, or auto"};
    case Kind::count:
      return {"a whole number"};
    case Kind::automatic_count:
      return {"a whole number or auto"};
    case Kind::duration:
      return {"a whole number with a unit ns, us, ms, s or min (or just 0)"};
    case Kind::bit_rate:
      return {"a whole number with a unit bps, Kbps, Mbps or Gbps (or just 0)"};
    case Kind::boolean:
      return {"true or false", "true or false"};
    case Kind::choice:
      return {"one of"};
    case Kind::names:
      return {"names of libraries without a folder, separated by colons", "names separated by colons"};
    case Kind::network:
      return {"the name of a network interface, or an IPv4 or IPv6 address", "interface or address"};
    case Kind::ports:
      return {"a port or the first and the last one, as in 40000-40099, from 1 to 65535",
              "port, or first-last"};
    case Kind::counts:
      return {"positive numbers separated by colons, as in 4:4:2", "numbers separated by colons"};
    case Kind::word:
      return {"one word of at most 64 bytes", "a word"};
    case Kind::path:
      return {"the path of a file, of at most 4095 bytes and without control characters", "path of a file"};
  }
  return {};
}

Error refusal(const Declaration& declaration, std::string_view text) {
  const Form form = form_of(declaration.kind);
  std::string message = std::string(declaration.name) + " cannot be " + quoted(text) + ": give ";
  message += form.expected;
  if (declaration.kind == Kind::choice)
    message += " " + format_range(declaration);
  else if (form.range.empty())
    message += ", from " + format_range(declaration);
  return Error{message};
}

bool in_range(const Declaration& declaration, std::uint64_t number) {
  if (declaration.kind == Kind::block_bytes && !std::has_single_bit(number)) return false;
  return number >= declaration.low && number <= declaration.high;
}

bool is_word_of(std::string_view words, std::string_view text) {
  while (true) {
    const std::size_t end = words.find('|');
    if (words.substr(0, end) == text) return !text.empty();
    if (end == std::string_view::npos) return false;
    words.remove_prefix(end + 1);
  }
}

bool is_printable(std::string_view text, std::size_t bytes_max, char excluded) {
  return text.size() <= bytes_max &&
         std::ranges::all_of(text, [=](char c) { return c > ' ' && c <= '~' && c != excluded; });
}

bool is_path(std::string_view text) {
  constexpr std::size_t text_bytes_max = 4095;
  return text.size() <= text_bytes_max &&
         std::ranges::none_of(text, [](char c) { return (c >= 0 && c < ' ') || c == '\x7f'; });
}

bool is_text_of(const Declaration& declaration, std::string_view text) {
  switch (declaration.kind) {
    case Kind::choice:
      return is_word_of(declaration.words, text);
    case Kind::names:
      return is_printable(text, 4096, '/');
    case Kind::network:
      return is_printable(text, 45, '/');
    case Kind::ports:
      return text.empty() || port_range(text);
    case Kind::counts:
      return text.empty() || !counts_in(text).empty();
    case Kind::word:
      return is_printable(text, 64, ' ');
    default:
      return is_path(text);
  }
}

std::optional<std::uint64_t> parse_number(Kind kind, std::string_view text) {
  switch (kind) {
    case Kind::bytes:
    case Kind::block_bytes:
    case Kind::automatic_bytes:
      return parse_with_unit(text, byte_units, true);
    case Kind::duration:
      return parse_with_unit(text, time_units, false);
    case Kind::bit_rate:
      return parse_with_unit(text, rate_units, false);
    default:
      return parse_count(text);
  }
}

}  // namespace

std::optional<PortRange> port_range(std::string_view text) {
  constexpr std::uint64_t port_max = 65535;
  const auto first = take_number(text);
  auto last = first;
  if (first && text.starts_with('-')) {
    text.remove_prefix(1);
    last = take_number(text);
  }
  if (!first || !last || !text.empty() || *first == 0 || *first > *last || *last > port_max)
    return std::nullopt;
  return PortRange{static_cast<std::uint16_t>(*first), static_cast<std::uint16_t>(*last)};
}

std::vector<std::uint32_t> counts_in(std::string_view text) {
  constexpr std::uint64_t count_max = 65535;
  std::vector<std::uint32_t> counts;
  while (true) {
    const auto count = take_number(text);
    if (!count || *count == 0 || *count > count_max) return {};
    counts.push_back(static_cast<std::uint32_t>(*count));
    if (text.empty()) return counts;
    if (text.front() != ':') return {};
    text.remove_prefix(1);
  }
}

Result<Value> parse_value(const Declaration& declaration, std::string_view text) {
  if (is_text(declaration.kind)) {
    if (is_text_of(declaration, text)) return Value(std::string(text));
    return refusal(declaration, text);
  }
  if (declaration.kind == Kind::boolean) {
    if (text == "true" || text == "false") return Value(text == "true");
    return refusal(declaration, text);
  }
  if (may_be_automatic(declaration.kind) && text == "auto") return Value(std::optional<std::uint64_t>());
  const std::optional<std::uint64_t> number = parse_number(declaration.kind, text);
  if (!number || !in_range(declaration, *number)) return refusal(declaration, text);
  if (may_be_automatic(declaration.kind)) return Value(number);
  if (declaration.kind == Kind::duration) {
    return Value(std::chrono::nanoseconds(static_cast<std::int64_t>(*number)));
  }
  return Value(*number);
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blanks = " \t";
  const std::size_t begin = text.find_first_not_of(blanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(blanks) - begin + 1);
}

std::optional<std::uint64_t> parse_openmp_size(std::string_view text) {
  constexpr std::string_view letters = "BKMG";
  text = trimmed(text);
  std::size_t unit = 1;
  if (!text.empty()) {
    const char letter = text.back() >= 'a' ? static_cast<char>(text.back() - 'a' + 'A') : text.back();
    const std::size_t found = letters.find(letter);
    if (found != std::string_view::npos) {
      unit = found;
      text = trimmed(text.substr(0, text.size() - 1));
    }
  }
  std::uint64_t number = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = failure == std::errc{} && end == text.data() + text.size();
  if (!whole || number == 0 || number > std::uint64_t{1} << 32) return std::nullopt;
  return number << (10 * unit);
}

std::string format_value(const Declaration& declaration, const Value& value) {
  if (const auto* number = std::get_if<std::uint64_t>(&value))
    return format_number(declaration.kind, *number);
  if (const auto* maybe = std::get_if<std::optional<std::uint64_t>>(&value)) {
    return *maybe ? format_number(declaration.kind, **maybe) : "auto";
  }
  if (const auto* time = std::get_if<std::chrono::nanoseconds>(&value)) {
    return format_number(Kind::duration, static_cast<std::uint64_t>(time->count()));
  }
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  return std::get<std::string>(value);
}

std::string format_range(const Declaration& declaration) {
  if (const std::string_view range = form_of(declaration.kind).range; !range.empty())
    return std::string(range);
  if (declaration.kind == Kind::choice) {
    std::string words(declaration.words);
    for (std::size_t at; (at = words.find('|')) != std::string::npos;) words.replace(at, 1, " or ");
    return words;
  }
  std::string range = format_number(declaration.kind, declaration.low) + " to " +
                      format_number(declaration.kind, declaration.high);
  if (declaration.kind == Kind::block_bytes) range += ", a power of two";
  if (may_be_automatic(declaration.kind)) range += ", or auto";
  return range;
}

std::string quoted(std::string_view text) {
  constexpr std::size_t shown_max = 60;
  std::string result = "\"";
  for (const char c : text.substr(0, shown_max)) result += c >= ' ' && c <= '~' ? c : '?';
  result += text.size() > shown_max ? "...\"" : "\"";
  return result;
}

}  // namespace musubi::config
