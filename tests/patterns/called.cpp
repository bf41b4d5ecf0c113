// Regions that leave their stores to functions built by another compiler, and regions of Fortran.
#include "kernels.h"
#include "pattern.h"

#ifdef PATTERN_FORTRAN
#define PATTERN_REGIONS(REGION) \
  REGION(words, 5, 1)           \
  REGION(letters, 1, 1)         \
  REGION(logicals, 1, 1)        \
  REGION(true_logicals, 1, 1)   \
  REGION(tiny_integers, 1, 1)   \
  REGION(third_integers, 3, 1)  \
  REGION(short_integers, 2, 2)  \
  REGION(columns, 7, 1)         \
  REGION(records, 6, 2)         \
  REGION(planes, 2, 1)
#define DECLARE_REGION(name, bytes, alignment) \
  extern "C" void name##_region(char* base, long count, long salt, int threads, bool parallel);
PATTERN_REGIONS(DECLARE_REGION)
#undef DECLARE_REGION
#endif

namespace patterns {
namespace {

#define DEFINE_BODY(kernel, bytes_of_one, aligned)                             \
  struct Called_##kernel : Elements<bytes_of_one, bytes_of_one> {              \
    static constexpr int alignment = aligned, header = 12 / aligned * aligned; \
    static std::string name() {                                                \
      return "kernel of " #kernel;                                             \
    }                                                                          \
    static void store(char* base, long i, long, unsigned salt) {               \
      kernel##_kernel(base, i, i + 1, salt);                                   \
    }                                                                          \
    static void store_range(char* base, long begin, long end, unsigned salt) { \
      kernel##_kernel(base, begin, end, salt);                                 \
    }                                                                          \
  };
PATTERN_KERNELS(DEFINE_BODY)

#define ADD_BODY(kernel, bytes, alignment)                  \
  add_shapes<Called_##kernel, bytes>(to);                   \
  add<Called_##kernel, Shape::by_hand, Base::argument>(to); \
  add<Called_##kernel, Shape::by_hand, Base::symbol>(to);   \
  add<Called_##kernel, Shape::scattered, Base::loaded>(to);

#ifdef PATTERN_FORTRAN
#define ADD_REGION(region, size, alignment)                                                              \
  to.push_back({"Fortran's " #region,                                                                    \
                [](const Call& c) { region##_region(c.base, c.count, c.salt % 1000, c.threads, true); }, \
                [](const Call& c) { region##_region(c.base, c.count, c.salt % 1000, 1, false); },        \
                [](long count) { return size * count; }, nullptr, alignment, -1});
#endif

}  // namespace

void add_called(std::vector<Pattern>& to) {
  PATTERN_KERNELS(ADD_BODY)
#ifdef PATTERN_FORTRAN
  // Listed several times, since there are few of them.
  for (int i = 0; i < 4; ++i) {
    PATTERN_REGIONS(ADD_REGION)
  }
#endif
}

}  // namespace patterns
