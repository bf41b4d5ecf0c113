// Arrays of chars, bools, shorts, ints and vectors: by strides, by rows, in halves.
#include <cstdint>
#include <cstring>

#include "pattern.h"

namespace patterns {
namespace {

template <class T>
using Aliased [[gnu::may_alias]] = T;

// Every stride-th element; the elements between keep their values.
template <class T, int stride>
struct Strided : Elements<sizeof(T) * stride, stride + sizeof(T)> {
  static constexpr int alignment = alignof(T), header = stride * 6 % 16 / alignment * alignment;
  static std::string name() {
    return std::string(sizeof(T) == 1   ? "chars"
                       : sizeof(T) == 2 ? "shorts"
                                        : "ints") +
           ", every " + std::to_string(stride);
  }
  [[gnu::always_inline]] static void store(char* base, long i, long, unsigned salt) {
    reinterpret_cast<Aliased<T>*>(base)[i * stride] = static_cast<T>(i * 37 + salt);
  }
};

template <int stride>
struct Bools : Elements<stride, stride + 2> {
  static std::string name() { return "bools, every " + std::to_string(stride); }
  [[gnu::always_inline]] static void store(char* base, long i, long, unsigned salt) {
    reinterpret_cast<bool*>(base)[i * stride] = (i ^ salt) % 3 == 0;
  }
};

// A row for each iteration, which compilers write by vectors.
template <class T, int width>
struct Rows : Elements<sizeof(T) * width, width> {
  static constexpr int alignment = alignof(T), header = width * 2 % 16 / alignment * alignment;
  static std::string name() {
    return "rows of " + std::to_string(width) + " times " + std::to_string(sizeof(T)) + " bytes";
  }
  [[gnu::always_inline]] static void store(char* base, long i, long, unsigned salt) {
    Aliased<T>* const row = reinterpret_cast<Aliased<T>*>(base) + i * width;
    for (int k = 0; k < width; ++k) row[k] = static_cast<T>(k * 3 + i + salt);
  }
};

template <int width>
struct ClearedRows : Elements<width, width> {
  static std::string name() { return "rows of " + std::to_string(width) + " bytes by memset"; }
  [[gnu::always_inline]] static void store(char* base, long i, long, unsigned salt) {
    std::memset(base + i * width, static_cast<int>(i + salt), static_cast<std::size_t>(width + zero));
  }
};

// Vectors at odd places: whole, the lower half, the upper half.
template <int size>
struct Vector {
  typedef unsigned char type __attribute__((vector_size(size), aligned(1), may_alias));
  typedef unsigned char half __attribute__((vector_size(size / 2), aligned(1), may_alias));
};

template <int size, int distance>
struct Vectors : Elements<distance, distance> {
  static std::string name() {
    return "vectors of " + std::to_string(size) + " bytes at multiples of " + std::to_string(distance);
  }
  [[gnu::always_inline]] static void store(char* base, long i, long, unsigned salt) {
    using Whole = typename Vector<size>::type;
    *reinterpret_cast<Whole*>(base + i * distance) =
        *source_of<Whole>(i, salt) + static_cast<unsigned char>(i);
  }
};

template <int size, bool upper>
struct Halves : Elements<size, size + upper> {
  static std::string name() {
    return std::string(upper ? "upper" : "lower") + " halves of vectors of " + std::to_string(size) +
           " bytes";
  }
  [[gnu::always_inline]] static void store(char* base, long i, long, unsigned salt) {
    using Whole = typename Vector<size>::type;
    using Half = typename Vector<size>::half;
    const Whole made = *source_of<Whole>(i, salt) ^ static_cast<unsigned char>(salt);
    Half half;
    std::memcpy(&half, reinterpret_cast<const char*>(&made) + (upper ? size / 2 : 0), sizeof half);
    *reinterpret_cast<Half*>(base + i * size + (upper ? size / 2 : 0)) = half;
  }
};

// Four ints at a place that is a multiple of 4.
typedef int Ints __attribute__((vector_size(16), aligned(4), may_alias));
struct IntVectors : Elements<20, 5> {
  static constexpr int alignment = 4, header = 4;
  static std::string name() { return "vectors of four ints at multiples of 20"; }
  [[gnu::always_inline]] static void store(char* base, long i, long, unsigned salt) {
    const int v = static_cast<int>(i * 77777 + salt);
    *reinterpret_cast<Ints*>(base + i * 20) = Ints{v, -v, v ^ 0x5555, static_cast<int>(i)};
  }
};

// Exchanges two neighbours: compilers merge their stores.
template <class T>
struct Swaps : Elements<2 * sizeof(T), sizeof(T)> {
  static constexpr int alignment = alignof(T), header = 12 / alignment * alignment;
  static std::string name() { return "swapped neighbours of " + std::to_string(sizeof(T)) + " bytes"; }
  [[gnu::always_inline]] static void store(char* base, long i, long, unsigned salt) {
    Aliased<T>* const pair = reinterpret_cast<Aliased<T>*>(base) + 2 * i;
    const T first = pair[0];
    pair[0] = static_cast<T>(pair[1] + (salt & 1));
    pair[1] = first;
  }
};

// Read-modify-write by one owner, as of private counters.
template <class T>
struct Sums : Elements<sizeof(T), 2 * sizeof(T) + 1> {
  static constexpr int alignment = alignof(T), header = 16 - alignment;
  static std::string name() { return "sums of " + std::to_string(sizeof(T)) + " bytes"; }
  [[gnu::always_inline]] static void store(char* base, long i, long, unsigned salt) {
    Aliased<T>* const sum = reinterpret_cast<Aliased<T>*>(base) + i;
    *sum = static_cast<T>(*sum + salt % 1000 + 1);
    if (i & 1) *sum = static_cast<T>(*sum << 1);
  }
};

template <class T, int... stride>
void add_strided(std::vector<Pattern>& to) {
  (add_shapes<Strided<T, stride>, stride + static_cast<int>(sizeof(T))>(to), ...);
}

}  // namespace

void add_arrays(std::vector<Pattern>& to) {
  add_strided<std::uint8_t, 1, 2, 3, 5, 9>(to);
  add_strided<std::uint16_t, 1, 2, 3>(to);
  add_strided<std::uint32_t, 1, 2, 3>(to);
  add_shapes<Bools<1>, 1>(to);
  add_shapes<Bools<3>, 2>(to);
  add_shapes<Rows<std::uint8_t, 3>, 3>(to);
  add_shapes<Rows<std::uint8_t, 19>, 4>(to);
  add_shapes<Rows<std::uint8_t, 37>, 5>(to);
  add_shapes<Rows<std::uint16_t, 13>, 6>(to);
  add_shapes<Rows<std::uint32_t, 7>, 7>(to);
  add_shapes<ClearedRows<5>, 8>(to);
  add_shapes<ClearedRows<18>, 9>(to);
  add_shapes<Vectors<16, 16>, 10>(to);
  add_shapes<Vectors<16, 19>, 11>(to);
  add_shapes<Vectors<32, 32>, 12>(to);
  add_shapes<Vectors<32, 37>, 13>(to);
  add_shapes<Halves<16, false>, 14>(to);
  add_shapes<Halves<16, true>, 15>(to);
  add_shapes<Halves<32, false>, 16>(to);
  add_shapes<Halves<32, true>, 17>(to);
  add_shapes<IntVectors, 18>(to);
  add_shapes<Swaps<std::uint8_t>, 19>(to);
  add_shapes<Swaps<std::uint16_t>, 20>(to);
  add_shapes<Swaps<std::uint32_t>, 21>(to);
  add_shapes<Sums<std::uint8_t>, 22>(to);
  add_shapes<Sums<std::uint16_t>, 23>(to);
  add_shapes<Sums<std::uint64_t>, 24>(to);
}

}  // namespace patterns
