// Conversions between text and value. The parser is strict: it refuses every text that is not exactly one of
// the documented forms.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "config/settings.h"

namespace musubi::config {

// The value that `text` gives this setting, or an error that names the setting, the text, the form expected
// and the range. Forms: bytes `65536`, `64KiB`; count `16`; duration `1ms` (ns us ms s min) or `0`; `true` /
// `false`; `auto`.
Result<Value> parse_value(const Declaration& declaration, std::string_view text);

// The value of a setting of the kind `ports`. Empty: an empty or invalid text.
struct PortRange {
  std::uint16_t first = 0, last = 0;
};
std::optional<PortRange> port_range(std::string_view text);

// Without the blanks and tabs around it.
std::string_view trimmed(std::string_view text);

// A size in the forms of OMP_STACKSIZE: `number`, `numberB`, `numberK`, `numberM`, `numberG`, with blanks
// around and between; without a letter the unit is KiB. Empty: another form, or more than 2^32 of the unit.
std::optional<std::uint64_t> parse_openmp_size(std::string_view text);

// The value of a setting of the kind `counts`: positive numbers. Empty: an empty or invalid text.
std::vector<std::uint32_t> counts_in(std::string_view text);

// The shortest form that parse_value reads back as the same value.
std::string format_value(const Declaration& declaration, const Value& value);

// The range as users read it: `4KiB to 2MiB, a power of two`.
std::string format_range(const Declaration& declaration);

// Foreign text made fit for a message: in quotes, shortened, without control characters.
std::string quoted(std::string_view text);

}  // namespace musubi::config
