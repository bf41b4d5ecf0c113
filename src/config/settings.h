// The settings as a plain struct, and their declarations as data. Filled by config/configuration.h.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>

namespace musubi::config {

inline constexpr std::uint64_t KiB = 1024, MiB = 1024 * KiB, GiB = 1024 * MiB, TiB = 1024 * GiB;

enum class Kind {
  bytes,
  block_bytes,
  automatic_bytes,
  count,
  automatic_count,
  duration,
  bit_rate,
  boolean,
  choice,
  names,
  path,
  network,
  ports,
  counts,
  word
};
enum class Scope { collective, per_rank };

constexpr bool may_be_automatic(Kind kind) {
  return kind == Kind::automatic_bytes || kind == Kind::automatic_count;
}
// Whether the value is a text: empty if there is none, except for a choice.
constexpr bool is_text(Kind kind) {
  return kind >= Kind::choice;
}

// The C++ type of a field, by kind. An empty optional is `auto`.
template <Kind kind>
using FieldOf = std::conditional_t<
    kind == Kind::boolean, bool,
    std::conditional_t<kind == Kind::duration, std::chrono::nanoseconds,
                       std::conditional_t<may_be_automatic(kind), std::optional<std::uint64_t>,
                                          std::conditional_t<is_text(kind), std::string, std::uint64_t>>>>;

namespace declaration {
using std::nullopt;
using std::chrono::milliseconds;
using std::chrono::seconds;
}  // namespace declaration

// One field per declaration of settings.def, with its default.
struct Settings {
#define MUSUBI_SETTING(kind, name, value, low, high, scope, doc) \
  FieldOf<Kind::kind> name = [] {                                \
    using namespace declaration;                                 \
    return FieldOf<Kind::kind>(value);                           \
  }();
#define MUSUBI_CHOICE(name, value, words, scope, doc) std::string name = value;
#include "config/settings.def"
#undef MUSUBI_SETTING
#undef MUSUBI_CHOICE
};

using Value =
    std::variant<std::uint64_t, std::optional<std::uint64_t>, std::chrono::nanoseconds, bool, std::string>;
using Field = std::variant<std::uint64_t Settings::*, std::optional<std::uint64_t> Settings::*,
                           std::chrono::nanoseconds Settings::*, bool Settings::*, std::string Settings::*>;

struct Declaration {
  std::string_view name;
  Kind kind;
  Scope scope;
  std::uint64_t low;  // smallest and largest value allowed: bytes, counts, or nanoseconds
  std::uint64_t high;
  std::string_view words;  // choice: the allowed words, separated by '|'
  std::string_view documentation;
  Field field;
};

// All declarations, in the order of settings.def. Elsewhere a setting's index is its position here.
std::span<const Declaration> declarations();

Value value_of(const Settings& settings, const Declaration& declaration);
// REQUIRES: the value has the declaration's type.
void assign(Settings& settings, const Declaration& declaration, const Value& value);

}  // namespace musubi::config
