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

std::string_view form_of(Kind kind) {
  switch (kind) {
    case Kind::bytes:
    case Kind::block_bytes:
      return "a whole number with an optional unit B, KiB, MiB, GiB or TiB";
    case Kind::automatic_bytes:
      return "a whole number with an optional unit B, KiB, MiB, GiB or TiB, or auto";
    case Kind::count:
      return "a whole number";
    case Kind::automatic_count:
      return "a whole number or auto";
    case Kind::duration:
      return "a whole number with a unit ns, us, ms, s or min (or just 0)";
    case Kind::bit_rate:
      return "a whole number with a unit bps, Kbps, Mbps or Gbps (or just 0)";
    case Kind::boolean:
      return "true or false";
    case Kind::choice:
      return "one of";
    case Kind::names:
      return "names of libraries without a folder, separated by colons";
    case Kind::network:
      return "the name of a network interface, or an IPv4 or IPv6 address";
    case Kind::ports:
      return "a port or the first and the last one, as in 40000-40099, from 1 to 65535";
    case Kind::counts:
      return "positive numbers separated by colons, as in 4:4:2";
    case Kind::word:
      return "one word of at most 64 bytes";
    case Kind::path:
      return "the path of a file, of at most 4095 bytes and without control characters";
  }
  return "";
}

bool has_range(Kind kind) {
  return kind != Kind::boolean && kind != Kind::names && kind != Kind::path && kind != Kind::network &&
         kind != Kind::ports && kind != Kind::counts && kind != Kind::word;
}

Error refusal(const Declaration& declaration, std::string_view text) {
  std::string message = std::string(declaration.name) + " cannot be " + quoted(text) + ": give ";
  message += form_of(declaration.kind);
  if (declaration.kind == Kind::choice)
    message += " " + format_range(declaration);
  else if (has_range(declaration.kind))
    message += ", from " + format_range(declaration);
  return Error{message};
}

bool may_be_automatic(Kind kind) {
  return kind == Kind::automatic_count || kind == Kind::automatic_bytes;
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

bool are_names(std::string_view text) {
  constexpr std::size_t text_bytes_max = 4096;
  return text.size() <= text_bytes_max &&
         std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c <= '~' && c != '/'; });
}

bool is_network(std::string_view text) {
  constexpr std::size_t text_bytes_max = 45;
  return text.size() <= text_bytes_max &&
         std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c <= '~' && c != '/'; });
}

bool is_word(std::string_view text) {
  constexpr std::size_t text_bytes_max = 64;
  return text.size() <= text_bytes_max &&
         std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c <= '~'; });
}

bool is_path(std::string_view text) {
  constexpr std::size_t text_bytes_max = 4095;
  return text.size() <= text_bytes_max &&
         std::none_of(text.begin(), text.end(), [](char c) { return (c >= 0 && c < ' ') || c == '\x7f'; });
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
  std::optional<std::uint64_t> number;
  if (may_be_automatic(declaration.kind) && text == "auto") return Value(std::optional<std::uint64_t>());
  switch (declaration.kind) {
    case Kind::boolean:
      if (text == "true") return Value(true);
      if (text == "false") return Value(false);
      return refusal(declaration, text);
    case Kind::choice:
      if (is_word_of(declaration.words, text)) return Value(std::string(text));
      return refusal(declaration, text);
    case Kind::names:
      if (are_names(text)) return Value(std::string(text));
      return refusal(declaration, text);
    case Kind::network:
      if (is_network(text)) return Value(std::string(text));
      return refusal(declaration, text);
    case Kind::ports:
      if (text.empty() || port_range(text)) return Value(std::string(text));
      return refusal(declaration, text);
    case Kind::counts:
      if (text.empty() || !counts_in(text).empty()) return Value(std::string(text));
      return refusal(declaration, text);
    case Kind::word:
      if (is_word(text)) return Value(std::string(text));
      return refusal(declaration, text);
    case Kind::path:
      if (is_path(text)) return Value(std::string(text));
      return refusal(declaration, text);
    case Kind::automatic_count:
    case Kind::count:
      number = parse_count(text);
      break;
    case Kind::bytes:
    case Kind::block_bytes:
    case Kind::automatic_bytes:
      number = parse_with_unit(text, byte_units, true);
      break;
    case Kind::duration:
      number = parse_with_unit(text, time_units, false);
      break;
    case Kind::bit_rate:
      number = parse_with_unit(text, rate_units, false);
      break;
  }
  if (!number || !in_range(declaration, *number)) return refusal(declaration, text);
  if (may_be_automatic(declaration.kind)) return Value(std::optional<std::uint64_t>(*number));
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
  if (declaration.kind == Kind::boolean) return "true or false";
  if (declaration.kind == Kind::names) return "names separated by colons";
  if (declaration.kind == Kind::path) return "path of a file";
  if (declaration.kind == Kind::network) return "interface or address";
  if (declaration.kind == Kind::ports) return "port, or first-last";
  if (declaration.kind == Kind::counts) return "numbers separated by colons";
  if (declaration.kind == Kind::word) return "a word";
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
