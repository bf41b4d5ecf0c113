// A time as messages say it.
#pragma once

#include <chrono>
#include <cstdio>
#include <string>

namespace musubi {

// "0.5 s", "20 s": six digits at most.
inline std::string in_seconds(std::chrono::nanoseconds time) {
  char text[32];
  std::snprintf(text, sizeof text, "%g s", static_cast<double>(time.count()) * 1e-9);
  return text;
}

}  // namespace musubi
