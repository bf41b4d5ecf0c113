// Code that the program generates while it runs: in pages, in static data, and trampolines of nested
// functions on stacks. Made by one thread, called by all.
#define _GNU_SOURCE
#include <omp.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "check.h"

typedef int Function(int);

enum { page = 4096 };

// mov eax, edi; add eax, <amount>; ret
static void write_code(unsigned char* place, int amount) {
  const unsigned char before[] = {0x89, 0xf8, 0x05};
  memcpy(place, before, sizeof before);
  memcpy(place + 3, &amount, sizeof amount);
  place[7] = 0xc3;
}

static Function* function_at(void* place) {
  return (Function*)(uintptr_t)place;
}

static void in_pages(void) {
  static unsigned char* code;
  code = mmap(NULL, 16 * page, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(code != MAP_FAILED);
  for (int i = 0; i < 16; i++) write_code(code + i * page, 10 * i);
#pragma omp parallel
  {
    for (int i = 0; i < 16; i++) CHECK(function_at(code + i * page)(1) == 10 * i + 1);
#pragma omp barrier
    // Changed by another rank.
    if (omp_get_thread_num() == omp_get_num_threads() - 1) write_code(code, 5000);
#pragma omp barrier
    CHECK(function_at(code)(2) == 5002);
  }
  CHECK(munmap(code, 16 * page) == 0);
}

// Written first, then made executable, as careful compilers do.
static void made_executable(void) {
  static unsigned char* code;
#pragma omp parallel
  {
    if (omp_get_thread_num() == omp_get_num_threads() - 1) {
      code = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      CHECK(code != MAP_FAILED);
      write_code(code, 7);
      CHECK(mprotect(code, page, PROT_READ | PROT_EXEC) == 0);
    }
#pragma omp barrier
    CHECK(function_at(code)(1) == 8);
  }
  CHECK(munmap(code, page) == 0);
}

static unsigned char code_of_program[page] __attribute__((aligned(4096)));

static void in_static_data(void) {
  write_code(code_of_program, 70);
  CHECK(mprotect(code_of_program, page, PROT_READ | PROT_WRITE | PROT_EXEC) == 0);
#pragma omp parallel
  CHECK(function_at(code_of_program)(1) == 71);
}

#ifdef NESTED_FUNCTIONS
static __attribute__((noinline)) int apply(int (*function)(int), int argument) {
  return function(argument);
}

static int (*given[64])(int);

// Called by every thread of a region, each with a function on its own stack.
static void exchange_functions(void) {
  const int self = omp_get_thread_num(), other = (self + 1) % omp_get_num_threads();
  int own(int argument) {
    return argument * 1000 + self;
  }
  given[self] = own;
#pragma omp barrier
  CHECK(apply(given[other], 3) == 3000 + other);
#pragma omp barrier
}

static void nested_functions(void) {
  int amount = 100;
  int add(int argument) {
    return argument + amount;
  }
  int (*pointer)(int) = add;
#pragma omp parallel
  {
    CHECK(apply(pointer, 1) == 101);
#pragma omp barrier
#pragma omp single
    amount = 200;
    CHECK(apply(pointer, 1) == 201);
    exchange_functions();
  }
}
#endif

int main(void) {
  in_pages();
  made_executable();
  in_static_data();
#ifdef NESTED_FUNCTIONS
  nested_functions();
#endif
  printf("code: passed\n");
  return 0;
}
