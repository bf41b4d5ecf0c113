// A pattern is a loop of a parallel region that writes an array in its own way. Each byte is written by one
// iteration, or by several that write the same value, so the result does not depend on the threads.
#pragma once

#include <omp.h>

#include <cstddef>
#include <string>
#include <vector>

namespace patterns {

// The schedule of the iterations, and the order in which they walk over the array.
enum class Shape { blocks, cyclic, dynamic, guided, scattered, by_hand, tasks };
// How the loop gets the address of its array.
enum class Base { argument, loaded, symbol };

constexpr long arena_bytes = 16384, count_max = 512;

// The parameters of a run.
struct Call {
  char* base;
  long count;  // number of iterations, at most count_max
  unsigned salt;
  int threads;
  int chunk;
};

struct Pattern {
  std::string name;
  void (*in_parallel)(const Call&);
  void (*serially)(const Call&);
  long (*bytes)(long count);  // bytes that may be written, from the base on
  // Bytes that the language lets a compiler write or leave: padding. Null: none.
  bool (*is_padding)(long offset);
  int alignment;
  int header;  // its offset in symbol_arena; -1: anywhere
};

extern char symbol_arena[arena_bytes];
extern char* loaded_base;
extern int order[count_max];  // a permutation that keeps 0 .. count - 1 together if it is drawn for count
extern volatile long zero;
extern const unsigned char* sources[4];  // random bytes, of which a salt chooses some

constexpr int source_records = 64, record_bytes_max = 40;

template <class Record>
[[gnu::always_inline]] inline const Record* source_of(long i, unsigned salt) {
  static_assert(sizeof(Record) <= record_bytes_max);
  return reinterpret_cast<const Record*>(sources[salt & 3]) + ((i * 5 + salt / 4) & (source_records - 1));
}

template <class Body, Base base>
[[gnu::always_inline]] inline char* address(char* argument) {
  if constexpr (base == Base::symbol) {
    return symbol_arena + Body::header;
  } else if constexpr (base == Base::loaded) {
    return loaded_base;
  } else {
    return argument;
  }
}

template <class Body, Base base>
[[gnu::always_inline]] inline void store(char* argument, long i, long count, unsigned salt) {
  Body::store(address<Body, base>(argument), i, count, salt);
}

// Scalars, as a program's own loop would share them; a structure would be shared by its address.
template <class Body, Shape shape, Base base>
void in_parallel(const Call& call) {
  char* const at = call.base;
  const long count = call.count;
  const unsigned salt = call.salt;
  const int threads = call.threads, chunk = call.chunk;
  if constexpr (shape == Shape::blocks) {
#pragma omp parallel for schedule(static) num_threads(threads)
    for (long i = 0; i < count; ++i) store<Body, base>(at, i, count, salt);
  } else if constexpr (shape == Shape::cyclic) {
#pragma omp parallel for schedule(static, 1) num_threads(threads)
    for (long i = 0; i < count; ++i) store<Body, base>(at, i, count, salt);
  } else if constexpr (shape == Shape::dynamic) {
#pragma omp parallel for schedule(dynamic, chunk) num_threads(threads)
    for (long i = 0; i < count; ++i) store<Body, base>(at, i, count, salt);
  } else if constexpr (shape == Shape::guided) {
#pragma omp parallel for schedule(guided) num_threads(threads)
    for (long i = 0; i < count; ++i) store<Body, base>(at, i, count, salt);
  } else if constexpr (shape == Shape::scattered) {
#pragma omp parallel for schedule(static) num_threads(threads)
    for (long i = 0; i < count; ++i) store<Body, base>(at, order[i], count, salt);
  } else if constexpr (shape == Shape::by_hand) {
#pragma omp parallel num_threads(threads)
    {
      const long me = omp_get_thread_num(), all = omp_get_num_threads();
      const long end = count * (me + 1) / all;
      if constexpr (requires { &Body::store_range; }) {
        Body::store_range(address<Body, base>(at), count * me / all, end, salt);
      } else {
        for (long i = count * me / all; i < end; ++i) store<Body, base>(at, i, count, salt);
      }
    }
  } else {
#pragma omp parallel num_threads(threads)
#pragma omp single
#pragma omp taskloop grainsize(chunk)
    for (long i = 0; i < count; ++i) store<Body, base>(at, i, count, salt);
  }
}

template <class Body>
[[gnu::noinline]] void serially(const Call& call) {
  for (long i = 0; i < call.count; ++i) Body::store(call.base, i, call.count, call.salt);
}

inline const char* name_of(Shape shape) {
  static const char* const names[] = {"blocks",    "cyclic",  "dynamic", "guided",
                                      "scattered", "by hand", "tasks"};
  return names[static_cast<int>(shape)];
}

inline const char* name_of(Base base) {
  static const char* const names[] = {"argument", "loaded", "symbol"};
  return names[static_cast<int>(base)];
}

// The common case: elements of one size, anywhere, without padding.
template <int size, int number>
struct Elements {
  static constexpr int alignment = 1, header = number * 7 % 16;
  static long bytes(long count) { return size * count; }
  static constexpr bool (*is_padding)(long) = nullptr;
};

template <class Body, Shape shape, Base base>
void add(std::vector<Pattern>& to) {
  to.push_back({Body::name() + ", " + name_of(shape) + ", by " + name_of(base),
                in_parallel<Body, shape, base>, serially<Body>, Body::bytes, Body::is_padding,
                Body::alignment, base == Base::symbol ? Body::header : -1});
}

// The shapes that put most words on a border between threads, and one other shape.
template <class Body, int number>
void add_shapes(std::vector<Pattern>& to) {
  add<Body, Shape::blocks, Base::argument>(to);
  add<Body, Shape::cyclic, Base::argument>(to);
  add<Body, Shape::cyclic, Base::symbol>(to);
  add<Body, static_cast<Shape>(2 + number % 5), static_cast<Base>(number / 5 % 3)>(to);
}

void add_records(std::vector<Pattern>& to);
void add_fields(std::vector<Pattern>& to);
void add_arrays(std::vector<Pattern>& to);
void add_marks(std::vector<Pattern>& to);
void add_called(std::vector<Pattern>& to);

}  // namespace patterns
