// Atomics by which threads synchronise are told from those that only accumulate, in code from compilers.
#include <gtest/gtest.h>

#include <algorithm>

#include "atomics/site.h"
#include "order_subject.h"

#define DECLARE(name, orders)  \
  void FUNCTION_AT(0, name)(); \
  void FUNCTION_AT(2, name)(); \
  void FUNCTION_AT(3, name)();
extern "C" {
MUSUBI_ORDER_SUBJECTS(DECLARE)
}

extern "C" void note_place(long* place, long value) {
  *place = value;
}

namespace musubi::atomics {
namespace {

enum class Orders : std::uint8_t { never, always, as_unoptimised };

struct Subject {
  const char* name;
  Orders orders;
  void (*functions[3])();
};
#define SUBJECT(name, orders) \
  {#name, Orders{orders}, {FUNCTION_AT(0, name), FUNCTION_AT(2, name), FUNCTION_AT(3, name)}},
constexpr Subject subjects[] = {MUSUBI_ORDER_SUBJECTS(SUBJECT)};

TEST(Order, OnlyWhatIsUsedForMoreThanTheNewValue) {
  auto code = code_of_program();
  ASSERT_TRUE(code) << code.error().message;
  const Scan scan = find_sites(code.value());
  for (const Subject& subject : subjects) {
    for (void (*function)() : subject.functions) {
      const auto begin = reinterpret_cast<std::uintptr_t>(function);
      const auto site = std::lower_bound(scan.sites.begin(), scan.sites.end(), begin,
                                         [](const Site& s, std::uintptr_t at) { return s.address < at; });
      constexpr std::uintptr_t longest_function = 200;
      ASSERT_TRUE(site != scan.sites.end() && site->address < begin + longest_function) << subject.name;
      const bool is_unoptimised = function == subject.functions[0];
      EXPECT_EQ(
          site->order == AtomicOrder::meeting,
          subject.orders == Orders::always || (subject.orders == Orders::as_unoptimised && is_unoptimised))
          << subject.name << " at level " << (is_unoptimised ? "0" : "2 or 3");
    }
  }
}

}  // namespace
}  // namespace musubi::atomics
