// Symbolic names for addresses of a running rank, for the launcher's reports.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace musubi::launch {

class Places {
 public:
  virtual ~Places() = default;
  // The place of an instruction: "function (file.c:12)", or less if less is known, at least the address.
  virtual std::string code(std::uintptr_t address) = 0;
  // The name of a variable, or an empty text.
  virtual std::string data(std::uintptr_t address) = 0;
};

using FindPlaces = std::function<std::unique_ptr<Places>(pid_t process)>;

}  // namespace musubi::launch
