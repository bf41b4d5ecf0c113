// Handlers that a program registers for its end run once, in C++'s order, whichever thread leaves and by
// which way: endings <way>. CMakeLists.txt has the expected output. Threads write to standard output by one
// line each.
#include <err.h>
#include <error.h>
#include <omp.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

// Set by the leaving thread before it leaves.
static int left_by = -1;
static std::string long_text;

struct Announced {
  explicit Announced(const char* given) : name(given) {}
  ~Announced() { std::printf("%s %d\n", name, left_by); }
  const char* name;
  int uses = 0;
};

static Announced of_program("object of the program");
static thread_local Announced of_thread("object of the thread");
static Announced& of_function() {
  static Announced object("object of a function");
  return object;
}

static void say_last() {
  std::printf("first handler: %s\n", long_text.c_str());
}
static void say_first() {
  std::printf("handler of another thread\n");
  std::atexit([] { std::printf("handler of a handler\n"); });
}
static void say_status(int status, void* text) {
  std::printf("%s %d\n", static_cast<const char*>(text), status);
}
static void say_quick() {
  std::printf("quick handler: %s\n", long_text.c_str());
  std::fflush(stdout);
}
static void say_quick_first() {
  std::printf("quick handler of another thread\n");
}
__attribute__((destructor)) static void say_destructor() {
  std::printf("destructor: %d\n", left_by);
}

static void leave(const std::string& way) {
  if (way == "exit") std::exit(3);
  if (way == "quick_exit") std::quick_exit(4);
  if (way == "_Exit") std::_Exit(5);
  std::fflush(stdout);
  if (way == "errx") errx(6, "no %s", "luck");
  if (way == "error") error(7, 0, "no luck in %d", 7);
  if (way == "verb") error_at_line(0, 0, "file", 9, "goes on");
}

int main(int, char** arguments) {
  std::atexit(say_last);
  std::at_quick_exit(say_quick);
#pragma omp parallel
  if (omp_get_thread_num() == omp_get_num_threads() - 1) {
    of_function().uses += 1;
    on_exit(say_status, const_cast<char*>("with status"));
    std::atexit(say_first);
    std::at_quick_exit(say_quick_first);
  }
#pragma omp parallel
  if (omp_get_thread_num() == omp_get_num_threads() - 1) {
    of_thread.uses += 1;
    left_by = of_function().uses;
    long_text = "written by the thread that leaves, and long enough for the heap";
    leave(arguments[1]);
  }
  return arguments[1] == std::string("return") ? 8 : 1;
}
