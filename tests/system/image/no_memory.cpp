// Exceptions and handlers of operator new belong to the program's own C++ library.
#include <malloc.h>
#include <omp.h>

#include <cstdint>
#include <new>
#include <vector>

#include "check.h"

static int handler_calls = 0;

static void give_up_at_third() {
  if (++handler_calls == 3) std::set_new_handler(nullptr);
}

struct alignas(256) Aligned {
  char bytes[300];
};

int main() {
  const std::size_t too_much = std::size_t{1} << 46;
  bool caught = false;
  try {
    static char* volatile never = new char[too_much];
    never[0] = 0;
  } catch (const std::bad_alloc&) {
    caught = true;
  }
  CHECK(caught);
  CHECK(new (std::nothrow) char[too_much] == nullptr);
  std::set_new_handler(give_up_at_third);
  try {
    static char* volatile never = static_cast<char*>(operator new(too_much));
    never[0] = 0;
  } catch (const std::bad_alloc&) {
  }
  CHECK(handler_calls == 3);

  // An alignment that is no power of two is passed to the program's own functions, too.
  caught = false;
  try {
    static void* volatile never = operator new(100, std::align_val_t(24));
    CHECK(never == nullptr);
  } catch (const std::bad_alloc&) {
    caught = true;
  }
  CHECK(caught);
  for (const std::size_t alignment : {std::size_t{0}, std::size_t{24}}) {
    void* const memory = omp_aligned_alloc(alignment, 100, omp_default_mem_alloc);
    CHECK(memory != nullptr && reinterpret_cast<std::uintptr_t>(memory) % (alignment == 0 ? 16 : 32) == 0);
    omp_free(memory, omp_default_mem_alloc);
  }

  static Aligned* objects[8];
#pragma omp parallel for
  for (int i = 0; i < 8; ++i) objects[i] = new Aligned[3];
#pragma omp parallel for schedule(dynamic)
  for (int i = 0; i < 8; ++i) {
    CHECK(reinterpret_cast<std::uintptr_t>(objects[i]) % 256 == 0);
    delete[] objects[i];
  }
  std::vector<std::vector<int>> grown(8);
#pragma omp parallel for
  for (int i = 0; i < 8; ++i) {
    for (int n = 0; n < 20000; ++n) grown[static_cast<std::size_t>(i)].push_back(n * i);
  }
  for (int i = 0; i < 8; ++i) CHECK(grown[static_cast<std::size_t>(i)][19999] == 19999 * i);
  puts("no_memory: passed");
}
