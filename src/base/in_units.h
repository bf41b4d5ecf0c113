// Bytes and durations as text for messages.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <string>

namespace musubi {

// For instance "12.5 GiB".
inline std::string in_units(std::uint64_t bytes) {
  constexpr const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  std::size_t unit = 0;
  double value = static_cast<double>(bytes);
  while (value >= 1024 && unit + 1 < std::size(units)) {
    value /= 1024;
    ++unit;
  }
  char text[32];
  const bool whole = value == static_cast<double>(static_cast<std::uint64_t>(value));
  std::snprintf(text, sizeof text, whole ? "%.0f %s" : "%.1f %s", value, units[unit]);
  return text;
}

// For instance "0.5 s", "20 s"; at most six digits.
inline std::string in_seconds(std::chrono::nanoseconds time) {
  char text[32];
  std::snprintf(text, sizeof text, "%g s", static_cast<double>(time.count()) * 1e-9);
  return text;
}

}  // namespace musubi
