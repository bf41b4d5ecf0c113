// Several iterations write the same value to the same place: harmless on hardware, and here. Next to bytes
// that other iterations write, or none.
#include <cstdint>
#include <cstring>

#include "pattern.h"

namespace patterns {
namespace {

template <class T>
using Aliased [[gnu::may_alias]] = T;

// Each mark is set by three iterations, far from one another.
template <class T, int number>
struct Marks : Elements<1, number> {
  static constexpr int alignment = alignof(T), header = number * 7 % 16 / alignment * alignment;
  static std::string name() { return "same marks of " + std::to_string(sizeof(T)) + " bytes"; }
  static long bytes(long count) { return (count / 3 + 1) * static_cast<long>(sizeof(T)); }
  [[gnu::always_inline]] static void store(char* base, long i, long count, unsigned salt) {
    const long cell = i * 7 % (count / 3 + 1);
    const T same = static_cast<T>(salt % 2 == 0 ? salt + 1 : cell * 12345 + salt);
    reinterpret_cast<Aliased<T>*>(base)[cell] = same;
  }
};

// The sieve: bytes that are no multiple keep their values.
struct Multiples : Elements<1, 11> {
  static std::string name() { return "multiples marked by bytes"; }
  [[gnu::always_inline]] static void store(char* base, long i, long count, unsigned salt) {
    const long factor = i % 32 + 2;
    for (long k = 2 * factor; k < count; k += factor) base[k] = static_cast<char>(salt | 1);
  }
};

// Even bytes are the same for all, odd ones belong to one iteration each.
struct MarksAndOwn : Elements<2, 5> {
  static std::string name() { return "same marks between bytes of one's own"; }
  [[gnu::always_inline]] static void store(char* base, long i, long count, unsigned salt) {
    base[2 * i + 1] = static_cast<char>(i * 5 + salt);
    base[2 * (i * 3 % count)] = static_cast<char>(salt + 1);
    base[2 * (i * 11 % count)] = static_cast<char>(salt + 1);
  }
};

// Words at odd places that overlap and have the same value in all their bytes.
struct Overlapping : Elements<2, 9> {
  static std::string name() { return "overlapping words of equal bytes"; }
  static long bytes(long count) { return 2 * count + 2; }
  [[gnu::always_inline]] static void store(char* base, long i, long, unsigned salt) {
    const std::uint32_t same = (salt % 255 + 1) * 0x01010101u;
    if (i % 3 != 0) std::memcpy(base + 2 * i, &same, sizeof same);
  }
};

// The same range cleared by several iterations, as a frontier that is emptied.
struct ClearedTwice : Elements<3, 6> {
  static std::string name() { return "overlapping ranges by memset"; }
  static long bytes(long count) { return 3 * count + 6; }
  [[gnu::always_inline]] static void store(char* base, long i, long, unsigned salt) {
    if (i % 4 != 1) std::memset(base + 3 * i, static_cast<int>(salt % 7), static_cast<std::size_t>(5 + zero));
  }
};

// A flag for all threads, in a word of chars that have single owners.
struct SharedFlag : Elements<4, 7> {
  static std::string name() { return "one flag next to chars of one's own"; }
  [[gnu::always_inline]] static void store(char* base, long i, long count, unsigned salt) {
    base[i < count / 2 ? 0 : 3] = static_cast<char>(salt + 3);
    if (i % 4 == 1) base[i] = static_cast<char>(i + salt);
    if (i > 3) base[i] = static_cast<char>(i ^ salt);
  }
};

}  // namespace

void add_marks(std::vector<Pattern>& to) {
  add_shapes<Marks<std::uint8_t, 1>, 1>(to);
  add_shapes<Marks<std::uint16_t, 2>, 2>(to);
  add_shapes<Marks<std::uint32_t, 3>, 3>(to);
  add_shapes<Marks<std::uint64_t, 4>, 4>(to);
  add_shapes<Multiples, 5>(to);
  add_shapes<MarksAndOwn, 6>(to);
  add_shapes<Overlapping, 7>(to);
  add_shapes<ClearedTwice, 8>(to);
  add_shapes<SharedFlag, 9>(to);
}

}  // namespace patterns
