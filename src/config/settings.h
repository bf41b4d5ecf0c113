// The settings as a plain struct, and their declarations as data. Filled by config/configuration.h.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
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

// The C++ type of a field, by kind.
template <Kind kind>
struct FieldOf {
  using Type = std::uint64_t;
};
template <>
struct FieldOf<Kind::automatic_bytes> {
  using Type = std::optional<std::uint64_t>;  // empty: auto
};
template <>
struct FieldOf<Kind::automatic_count> {
  using Type = std::optional<std::uint64_t>;
};
template <>
struct FieldOf<Kind::duration> {
  using Type = std::chrono::nanoseconds;
};
template <>
struct FieldOf<Kind::boolean> {
  using Type = bool;
};
template <>
struct FieldOf<Kind::choice> {
  using Type = std::string;
};
template <>
struct FieldOf<Kind::names> {
  using Type = std::string;  // separated by colons, or empty
};
template <>
struct FieldOf<Kind::path> {
  using Type = std::string;  // of a file, or empty
};

template <>
struct FieldOf<Kind::network> {
  using Type = std::string;  // an interface or an address, or empty
};
template <>
struct FieldOf<Kind::ports> {
  using Type = std::string;  // as for port_range(), or empty
};

template <>
struct FieldOf<Kind::counts> {
  using Type = std::string;  // as for counts_in(), or empty
};

template <>
struct FieldOf<Kind::word> {
  using Type = std::string;  // without spaces, or empty
};

namespace declaration {
using std::nullopt;
using std::chrono::milliseconds;
using std::chrono::seconds;
}  // namespace declaration

// One field per declaration of settings.def, with its default.
struct Settings {
#define MUSUBI_SETTING(kind, name, value, low, high, scope, doc) \
  FieldOf<Kind::kind>::Type name = [] {                          \
    using namespace declaration;                                 \
    return FieldOf<Kind::kind>::Type(value);                     \
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
