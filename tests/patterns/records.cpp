// Adjacent records of 1 to 33 bytes, and numbers at odd distances, written whole in several ways.
#include <cstdint>
#include <cstring>
#include <utility>

#include "pattern.h"

namespace patterns {
namespace {

enum class Way { assign, copy, copy_any, by_byte };
constexpr const char* way_names[] = {"assigned", "copied", "copied by the library", "by byte"};

template <int size>
struct [[gnu::may_alias]] Record {
  unsigned char bytes[size];
};

template <int size, Way way>
struct Records : Elements<size, size * 3 + static_cast<int>(way)> {
  static std::string name() {
    return "records of " + std::to_string(size) + " bytes " + way_names[static_cast<int>(way)];
  }
  [[gnu::always_inline]] static void store(char* base, long i, long, unsigned salt) {
    Record<size>* const to = reinterpret_cast<Record<size>*>(base) + i;
    const Record<size>* const from = source_of<Record<size>>(i, salt);
    if constexpr (way == Way::assign) {
      *to = *from;
    } else if constexpr (way == Way::copy) {
      std::memcpy(to, from, size);
    } else if constexpr (way == Way::copy_any) {
      std::memcpy(to, from, static_cast<std::size_t>(size + zero));
    } else {
      for (int k = 0; k < size; ++k) to->bytes[k] = static_cast<unsigned char>(from->bytes[k] + k);
    }
  }
};

// A distinct number at each multiple of the distance.
template <class Number, int distance>
struct Numbers : Elements<distance, distance + static_cast<int>(sizeof(Number))> {
  static std::string name() {
    return "numbers of " + std::to_string(sizeof(Number)) + " bytes at multiples of " +
           std::to_string(distance);
  }
  [[gnu::always_inline]] static void store(char* base, long i, long, unsigned salt) {
    const Number number = static_cast<Number>((i + salt) * 0x9e3779b97f4a7c15u);
    std::memcpy(base + i * distance, &number, sizeof number);
  }
};

template <int size>
void add_size(std::vector<Pattern>& to) {
  add_shapes<Records<size, Way::assign>, size>(to);
  add_shapes<Records<size, Way::copy>, size + 1>(to);
  add_shapes<Records<size, Way::copy_any>, size + 2>(to);
  add_shapes<Records<size, Way::by_byte>, size + 3>(to);
}

template <int... size>
void add_sizes(std::vector<Pattern>& to, std::integer_sequence<int, size...>) {
  (add_size<size + 1>(to), ...);
}

template <class Number, int... gap>
void add_numbers(std::vector<Pattern>& to, std::integer_sequence<int, gap...>) {
  constexpr int size = sizeof(Number);
  (add_shapes<Numbers<Number, size + gap>, size + gap>(to), ...);
}

}  // namespace

void add_records(std::vector<Pattern>& to) {
  add_sizes(to, std::make_integer_sequence<int, 33>());
  add_numbers<std::uint16_t>(to, std::make_integer_sequence<int, 6>());
  add_numbers<std::uint32_t>(to, std::make_integer_sequence<int, 6>());
  add_numbers<std::uint64_t>(to, std::make_integer_sequence<int, 10>());
}

}  // namespace patterns
