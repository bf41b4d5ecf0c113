// The events of a trace: declared in events.def.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace musubi::trace {

enum class Event : std::uint32_t {
#define MUSUBI_EVENT(name, category, meaning) name,
#include "trace/events.def"
#undef MUSUBI_EVENT
  count
};

inline constexpr std::size_t event_kinds = static_cast<std::size_t>(Event::count);

struct EventText {
  const char* name;
  const char* category;
  const char* meaning;
};

inline constexpr std::array<EventText, event_kinds> event_texts{{
#define MUSUBI_EVENT(name, category, meaning) {#name, #category, meaning},
#include "trace/events.def"
#undef MUSUBI_EVENT
}};

// One event from `begin_ns` to `end_ns` (os::monotonic_ns).
struct EventSpan {
  Event event;
  std::uint64_t begin_ns;
  std::uint64_t end_ns;
  std::uint64_t argument;
};

}  // namespace musubi::trace
