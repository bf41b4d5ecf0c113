// The faults that tests may inject, by name.
#pragma once

#include <cstdint>
#include <string_view>

namespace musubi {

enum class InjectedBug : std::uint8_t {
  none,
#define MUSUBI_BUG(name) name,
#include "hooks/injected_bugs.def"
#undef MUSUBI_BUG
};

constexpr std::string_view name_of(InjectedBug bug) {
  switch (bug) {
    case InjectedBug::none:
      return "none";
#define MUSUBI_BUG(name)  \
  case InjectedBug::name: \
    return #name;
#include "hooks/injected_bugs.def"
#undef MUSUBI_BUG
  }
  return "unknown";
}

}  // namespace musubi
