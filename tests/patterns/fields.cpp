// Structures: whole, by field, packed, each field by another thread, bit-fields, and several adjacent arrays.
#include <cstdint>

#include "pattern.h"

namespace patterns {
namespace {

#define MAY_ALIAS __attribute__((may_alias))
#define PACKED __attribute__((packed, may_alias))

struct MAY_ALIAS Point {
  int x, y;
  enum : unsigned { padding = 0 };
};
struct MAY_ALIAS Vector {
  float x, y, z;
  enum : unsigned { padding = 0 };
};
struct MAY_ALIAS Run {
  long length;
  short mark;
  enum : unsigned { padding = 0xfc00 };  // a bit for each byte
};
struct MAY_ALIAS Flagged {
  char flag;
  short mark;
  int value;
  long length;
  enum : unsigned { padding = 2 };
};
struct PACKED Tagged {
  char tag;
  int value;
  enum : unsigned { padding = 0 };
};
struct PACKED PackedRun {
  short mark;
  long length;
  enum : unsigned { padding = 0 };
};
struct PACKED Framed {
  char before;
  double value;
  bool after;
  enum : unsigned { padding = 0 };
};

[[gnu::always_inline]] inline long value_of(long i, unsigned salt) {
  return static_cast<long>((static_cast<unsigned long>(i) + salt) * 0x9e3779b97f4a7c15u);
}

// All fields, iteration by iteration, from values that the compiler cannot treat as a whole.
[[gnu::always_inline]] inline void fill(Point* p, long v) {
  p->x = static_cast<int>(v);
  p->y = static_cast<int>(v >> 32);
}
[[gnu::always_inline]] inline void fill(Vector* p, long v) {
  p->x = static_cast<float>(static_cast<short>(v));
  p->y = p->x + 1;
  p->z = -p->x;
}
[[gnu::always_inline]] inline void fill(Run* p, long v) {
  p->length = v;
  p->mark = static_cast<short>(v >> 20);
}
[[gnu::always_inline]] inline void fill(Flagged* p, long v) {
  p->flag = static_cast<char>(v);
  p->mark = static_cast<short>(v >> 8);
  p->value = static_cast<int>(v >> 16);
  p->length = v;
}
[[gnu::always_inline]] inline void fill(Tagged* p, long v) {
  p->tag = static_cast<char>(v);
  p->value = static_cast<int>(v >> 8);
}
[[gnu::always_inline]] inline void fill(PackedRun* p, long v) {
  p->mark = static_cast<short>(v);
  p->length = v;
}
[[gnu::always_inline]] inline void fill(Framed* p, long v) {
  p->before = static_cast<char>(v);
  p->value = static_cast<double>(v >> 12);
  p->after = v < 0;
}

enum class Way { whole, by_field };

template <class Structure, int number>
struct Fields : Elements<sizeof(Structure), number> {
  static constexpr int alignment = alignof(Structure);
  static constexpr int header = number * 7 % 16 / alignment * alignment;
  static bool has_padding_at(long offset) { return Structure::padding >> offset % sizeof(Structure) & 1; }
  static constexpr bool (*is_padding)(long) = Structure::padding == 0 ? nullptr : has_padding_at;
};

template <class Structure, Way way, int number>
struct Structures : Fields<Structure, number> {
  static std::string name() {
    return std::string(way == Way::whole ? "whole" : "fields of") + " structures of " +
           std::to_string(sizeof(Structure)) + " bytes, aligned to " + std::to_string(alignof(Structure));
  }
  [[gnu::always_inline]] static void store(char* base, long i, long, unsigned salt) {
    Structure* const to = reinterpret_cast<Structure*>(base) + i;
    if constexpr (way == Way::whole) {
      Structure made;
      fill(&made, value_of(i, salt));
      *to = made;
    } else {
      fill(to, value_of(i, salt));
    }
  }
};

// Fields of many widths, each written by another iteration.
struct FieldEach : Fields<Flagged, 5> {
  static std::string name() { return "each field by another iteration"; }
  static long bytes(long count) { return (count / 4 + 1) * static_cast<long>(sizeof(Flagged)); }
  [[gnu::always_inline]] static void store(char* base, long i, long, unsigned salt) {
    Flagged* const to = reinterpret_cast<Flagged*>(base) + i / 4;
    const long v = value_of(i, salt);
    switch (i % 4) {
      case 0:
        to->flag = static_cast<char>(v);
        break;
      case 1:
        to->mark = static_cast<short>(v);
        break;
      case 2:
        to->value = static_cast<int>(v);
        break;
      default:
        to->length = v;
    }
  }
};

// Two memory locations of bit-fields, and a char, in one word: each written by another iteration.
struct MAY_ALIAS Bits {
  std::uint8_t first : 3, second : 5;
  std::uint8_t : 0;
  std::uint8_t third : 6, fourth : 2;
  char between;
  std::uint8_t fifth : 7, sixth : 1;
  enum : unsigned { padding = 0 };
};
static_assert(sizeof(Bits) == 4);

struct BitFields : Fields<Bits, 3> {
  static std::string name() { return "bit-fields of neighbours"; }
  static long bytes(long count) { return (count / 4 + 1) * static_cast<long>(sizeof(Bits)); }
  [[gnu::always_inline]] static void store(char* base, long i, long, unsigned salt) {
    Bits* const to = reinterpret_cast<Bits*>(base) + i / 4;
    const unsigned v = static_cast<unsigned>(value_of(i, salt));
    switch (i % 4) {
      case 0:
        to->first = v & 7;
        to->second = v >> 3 & 31;
        break;
      case 1:
        to->third = v & 63;  // the fourth keeps its value
        break;
      case 2:
        to->between = static_cast<char>(v);
        break;
      default:
        to->sixth = v & 1;
        to->fifth = v >> 1 & 127;
    }
  }
};

// Wide bit-fields of one location, which belong to one iteration; next to those of another.
struct MAY_ALIAS WideBits {
  std::uint32_t low : 13, middle : 12, high : 7;
  enum : unsigned { padding = 0 };
};

struct WideBitFields : Fields<WideBits, 9> {
  static std::string name() { return "bit-fields of words"; }
  [[gnu::always_inline]] static void store(char* base, long i, long, unsigned salt) {
    WideBits* const to = reinterpret_cast<WideBits*>(base) + i;
    const unsigned v = static_cast<unsigned>(value_of(i, salt));
    to->middle = v & 0xfff;
    if (v & 0x10000) to->high = v >> 20 & 127;
    if (v & 0x20000) to->low = v >> 8 & 0x1fff;
  }
};

typedef long MAY_ALIAS AliasedLong;
typedef int MAY_ALIAS AliasedInt;
typedef short MAY_ALIAS AliasedShort;

// Lengths of 8 bytes, then ints, marks of 2 and flags of 1, in one loop.
struct Columns : Elements<15, 4> {
  static constexpr int alignment = 8, header = 8;
  static std::string name() { return "columns of four widths"; }
  [[gnu::always_inline]] static void store(char* base, long i, long count, unsigned salt) {
    const long v = value_of(i, salt);
    reinterpret_cast<AliasedLong*>(base)[i] = v;
    reinterpret_cast<AliasedInt*>(base + 8 * count)[i] = static_cast<int>(v >> 3);
    reinterpret_cast<AliasedShort*>(base + 12 * count)[i] = static_cast<short>(v >> 7);
    reinterpret_cast<bool*>(base + 14 * count)[i] = v & 64;
  }
};

// Lengths and marks: no store narrower than 2 bytes reaches the marks, only stores of 8 bytes reach the
// lengths.
struct LengthsAndMarks : Elements<10, 6> {
  static constexpr int alignment = 8, header = 0;
  static std::string name() { return "lengths of 8 bytes and marks of 2"; }
  [[gnu::always_inline]] static void store(char* base, long i, long count, unsigned salt) {
    reinterpret_cast<AliasedLong*>(base)[i] = i * 1000 + salt % 100;
    reinterpret_cast<AliasedShort*>(base + 8 * count)[i] = static_cast<short>(i + salt);
  }
};

template <class Structure, int number>
void add_structures(std::vector<Pattern>& to) {
  add_shapes<Structures<Structure, Way::whole, number>, number>(to);
  add_shapes<Structures<Structure, Way::by_field, number + 1>, number + 1>(to);
}

}  // namespace

void add_fields(std::vector<Pattern>& to) {
  add_structures<Point, 3>(to);
  add_structures<Vector, 5>(to);
  add_structures<Run, 7>(to);
  add_structures<Flagged, 9>(to);
  add_structures<Tagged, 11>(to);
  add_structures<PackedRun, 13>(to);
  add_structures<Framed, 15>(to);
  add_shapes<FieldEach, 2>(to);
  add_shapes<BitFields, 4>(to);
  add_shapes<WideBitFields, 6>(to);
  add_shapes<Columns, 8>(to);
  add_shapes<LengthsAndMarks, 10>(to);
}

}  // namespace patterns
