// Settings of the program for its process hold for all threads, whichever thread makes them: handlers and
// defaults of C++, conversions of printf, the time zone. Exit handlers run once, whichever thread registers
// them.
#include <printf.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <exception>
#include <memory_resource>
#include <new>

#include "check.h"

namespace {

void end_in_order() {
  puts("own_handlers: ended by terminate");
  fflush(stdout);
  _exit(0);
}
void end_otherwise() {
  _exit(1);
}

struct NoMemory : std::bad_alloc {};
std::atomic<int> asked{0};

void refuse_memory() {
  ++asked;
  throw NoMemory();
}

struct Counting : std::pmr::memory_resource {
  std::atomic<int> count{0};
  void* do_allocate(std::size_t bytes, std::size_t) override {
    ++count;
    return malloc(bytes);
  }
  void do_deallocate(void* memory, std::size_t, std::size_t) override { free(memory); }
  bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }
};
Counting counting;

int print_whole(FILE* stream, const printf_info*, const void* const* arguments) {
  return fprintf(stream, "<%d>", **static_cast<const int* const*>(arguments[0]));
}
int describe(const printf_info*, std::size_t count, int* types, int* sizes) {
  if (count > 0) {
    types[0] = PA_POINTER;
    sizes[0] = sizeof(int*);
  }
  return 1;
}

int hour_of_day() {
  const time_t moment = 0;
  struct tm parts;
  localtime_r(&moment, &parts);
  return parts.tm_hour;
}

void set_all() {
  std::set_terminate(end_in_order);
  std::set_new_handler(refuse_memory);
  std::pmr::set_default_resource(&counting);
  CHECK(register_printf_specifier('W', print_whole, describe) == 0);
  CHECK(setenv("TZ", "XYZ-7", 1) == 0);
  tzset();
}

void check_all() {
  CHECK(std::get_terminate() == end_in_order);
  CHECK(std::get_new_handler() == refuse_memory);
  CHECK(std::pmr::get_default_resource() == &counting);
  CHECK(hour_of_day() == 7);
  const int number = 5;
  char text[20];
  const char* const volatile format = "%W";  // the compiler does not know it
  snprintf(text, sizeof text, format, &number);
  CHECK(strcmp(text, "<5>") == 0);
  bool refused = false;
  const volatile std::size_t bytes = std::size_t{1} << 62;
  try {
    ::operator delete(::operator new(bytes));
  } catch (const NoMemory&) {
    refused = true;
  }
  CHECK(refused);
}

std::atomic<int> ended{0};
int threads = 0;

void note_end() {
  ++ended;
}
void note_end_of(int, void* own) {
  if (*static_cast<int*>(own) == 1) note_end();
}

struct Ending {
  ~Ending() { note_end(); }
};
void use_object() {
  static Ending ending;
  asm volatile("" ::"r"(&ending));
}

void check_ends() {
  if (ended == 3 && threads > 0) puts("own_handlers: passed");
  fflush(stdout);
  _exit(ended == 3 ? 0 : 1);
}

}  // namespace

int main(int argc, char** argv) {
  const bool by_last = argc > 1 && strcmp(argv[1], "last") == 0;
  CHECK(atexit(check_ends) == 0);
  std::set_terminate(end_otherwise);
#pragma omp parallel
  {
    hour_of_day();  // in the previous zone
#pragma omp barrier
    if (omp_get_thread_num() == (by_last ? omp_get_num_threads() - 1 : 0)) set_all();
#pragma omp barrier
    check_all();
#pragma omp barrier
    if (omp_get_thread_num() == omp_get_num_threads() - 1) {
      static int own = 1;
      threads = omp_get_num_threads();
      CHECK(atexit(note_end) == 0 && on_exit(note_end_of, &own) == 0);
      use_object();
    }
  }
  check_all();
  if (argc > 1 && strcmp(argv[1], "terminate") == 0) {
#pragma omp parallel
    {
      if (omp_get_thread_num() == omp_get_num_threads() - 1) throw 1;
#pragma omp barrier
    }
  }
  return 0;
}
