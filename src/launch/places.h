// Names for addresses of a running rank, for the launcher's reports.
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
  // Of an instruction: "function (file.c:12)", less where less is known, at least the address.
  virtual std::string code(std::uintptr_t address) = 0;
  // Of a variable: its name, or nothing.
  virtual std::string data(std::uintptr_t address) = 0;
};

using FindPlaces = std::function<std::unique_ptr<Places>(pid_t process)>;

}  // namespace musubi::launch
