// A duration as text for messages.
#pragma once

#include <chrono>
#include <cstdio>
#include <string>

namespace musubi {

// For instance "0.5 s", "20 s"; at most six digits.
inline std::string in_seconds(std::chrono::nanoseconds time) {
  char text[32];
  std::snprintf(text, sizeof text, "%g s", static_cast<double>(time.count()) * 1e-9);
  return text;
}

}  // namespace musubi
