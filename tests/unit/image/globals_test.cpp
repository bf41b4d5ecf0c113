// The program inspects itself: built in several ways (see CMakeLists.txt), so that copy relocations, .got.plt
// and the pages that become read-only are in different places.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <iostream>

#include "image/libraries/loaded_objects.h"

namespace musubi::image {
namespace {

int initialised = 7;
int zero;
char large[1 << 20];
double (*pointer_to_library)(double) = &std::cos;
const char* const relocated_constant = "constant";  // .data.rel.ro
thread_local int of_thread = 3;

extern "C" const char _end[];

bool covers(std::uintptr_t begin, std::size_t bytes, std::uintptr_t address) {
  return address - begin < bytes;
}

template <class Object>
bool is_shared(const Globals& globals, const Object& object) {
  const auto first = reinterpret_cast<std::uintptr_t>(&object), last = first + sizeof object - 1;
  for (const auto& range : globals.shared) {
    if (covers(range.address, range.bytes, first) && covers(range.address, range.bytes, last)) return true;
  }
  return false;
}

template <class Object>
bool is_private(const Globals& globals, const Object& object) {
  const auto first = reinterpret_cast<std::uintptr_t>(&object), last = first + sizeof object - 1;
  for (const auto& range : globals.private_bytes) {
    if (covers(range.address, range.bytes, first) && covers(range.address, range.bytes, last)) return true;
  }
  return false;
}

// Whether the linker copied a library's object into the program.
bool lies_in_program(const void* object) {
  Dl_info program{}, found{};
  EXPECT_NE(dladdr(&initialised, &program), 0);
  EXPECT_NE(dladdr(object, &found), 0);
  return program.dli_fbase == found.dli_fbase;
}

TEST(Globals, ThreadLocalVariablesOfTheProgramAreFound) {
  EXPECT_EQ(of_thread, 3);
  EXPECT_TRUE(program_has_thread_storage());
}

TEST(Globals, AreSharedAndNothingElse) {
  static int of_function = 5;
  const Globals globals = find_program_globals();
  EXPECT_TRUE(is_shared(globals, initialised));
  EXPECT_TRUE(is_shared(globals, zero));
  EXPECT_TRUE(is_shared(globals, large));
  EXPECT_TRUE(is_shared(globals, of_function));
  EXPECT_TRUE(is_shared(globals, pointer_to_library));
  EXPECT_FALSE(is_shared(globals, of_thread));
  EXPECT_FALSE(is_shared(globals, relocated_constant));
  int on_stack = 0;
  EXPECT_FALSE(is_shared(globals, on_stack));

  EXPECT_FALSE(is_private(globals, initialised));
  EXPECT_FALSE(is_private(globals, large));
  EXPECT_FALSE(is_private(globals, pointer_to_library));
}

TEST(Globals, RangesAreWholePagesInOrderAndEndWithTheProgram) {
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const Globals globals = find_program_globals();
  ASSERT_FALSE(globals.shared.empty());
  std::uintptr_t end = 0;
  for (const auto& range : globals.shared) {
    EXPECT_EQ(range.address % page, 0u);
    EXPECT_EQ(range.bytes % page, 0u);
    EXPECT_GT(range.bytes, 0u);
    EXPECT_GE(range.address, end);
    end = range.address + range.bytes;
  }
  // One page further, the heap of brk may begin.
  EXPECT_EQ(end, (reinterpret_cast<std::uintptr_t>(_end) + page - 1) / page * page);
}

TEST(Globals, PrivateBytesAscendInsideTheRanges) {
  const Globals globals = find_program_globals();
  std::uintptr_t end = 0;
  for (const auto& bytes : globals.private_bytes) {
    EXPECT_GE(bytes.address, end);
    EXPECT_GT(bytes.bytes, 0u);
    end = bytes.address + bytes.bytes;
    bool inside = false;
    for (const auto& range : globals.shared) {
      inside |= bytes.address >= range.address && end <= range.address + range.bytes;
    }
    EXPECT_TRUE(inside);
  }
}

TEST(Globals, CopiedObjectsOfLibrariesStayPrivate) {
  const Globals globals = find_program_globals();
#ifdef EXPECT_COPIES
  ASSERT_TRUE(lies_in_program(&stdout));
  ASSERT_TRUE(lies_in_program(&std::cout));
#endif
  EXPECT_TRUE(!lies_in_program(&stdout) || is_private(globals, stdout));
  EXPECT_TRUE(!lies_in_program(&environ) || is_private(globals, environ));
  EXPECT_TRUE(!lies_in_program(&std::cout) || is_private(globals, std::cout));
}

// Every word that points into the C library's code or at the linker's own data, and that the program did not
// write itself, must be private.
TEST(Globals, SlotsOfTheLinkerStayPrivate) {
  const Globals globals = find_program_globals();
  [[maybe_unused]] std::size_t slots = 0;
  for (const auto& range : globals.shared) {
    for (std::uintptr_t at = range.address; at < range.address + range.bytes; at += sizeof(void*)) {
      auto& word = *reinterpret_cast<void**>(at);
      Dl_info found{};
      if (&word == reinterpret_cast<void**>(&pointer_to_library)) continue;
      if (word == nullptr || dladdr(word, &found) == 0 || found.dli_saddr != word ||
          found.dli_fname == nullptr)
        continue;
      const std::string library = found.dli_fname;
      if (library.find("libc.so") == std::string::npos && library.find("libm.so") == std::string::npos)
        continue;
      ++slots;
      EXPECT_TRUE(is_private(globals, word)) << std::hex << at << " holds " << found.dli_sname;
    }
  }
#ifdef EXPECT_SLOTS
  EXPECT_GT(slots, 0u);
#endif
}

TEST(Fingerprint, NamesTheProgramFirstAndEveryLibrary) {
  const std::string text = image_fingerprint();
  EXPECT_NE(text.substr(0, text.find('\n')).find("the program"), std::string::npos);
  EXPECT_NE(text.find("libc.so.6"), std::string::npos);
  EXPECT_EQ(text.find("vdso"), std::string::npos);
  EXPECT_EQ(text, image_fingerprint());
}

TEST(Fingerprint, DifferenceSaysWhoWhatAndWhy) {
  const std::string first = "0x1000 the program aa\n0x2000 libc.so.6 bb\n";
  EXPECT_EQ(fingerprint_difference({first, first, first}), "");
  const std::string moved =
      fingerprint_difference({first, first, "0x1000 the program aa\n0x3000 libc.so.6 bb\n"});
  EXPECT_NE(moved.find("rank 2"), std::string::npos) << moved;
  EXPECT_NE(moved.find("libc.so.6"), std::string::npos) << moved;
  EXPECT_NE(moved.find("randomisation"), std::string::npos) << moved;
  const std::string other = fingerprint_difference({first, "0x1000 the program cc\n0x2000 libc.so.6 bb\n"});
  EXPECT_NE(other.find("different builds"), std::string::npos) << other;
  EXPECT_NE(fingerprint_difference({first, "0x1000 the program aa\n"}).find("numbers"), std::string::npos);
}

}  // namespace
}  // namespace musubi::image
