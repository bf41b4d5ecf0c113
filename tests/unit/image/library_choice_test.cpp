#include "image/libraries/library_choice.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "image/process/real_function.h"

namespace musubi::image {
namespace {

TEST(IsLibrary, KnowsVersionsAndRenamedCopies) {
  EXPECT_TRUE(is_library("/usr/lib/libgomp.so.1", "libgomp"));
  EXPECT_TRUE(is_library("libgomp.so", "libgomp"));
  EXPECT_TRUE(is_library("/venv/lightgbm.libs/libgomp-a34b3233.so.1.0.0", "libgomp"));
  EXPECT_TRUE(is_library("/lib/libc-2.31.so", "libc"));
  EXPECT_FALSE(is_library("/lib/libcrypto.so.3", "libc"));
  EXPECT_FALSE(is_library("/lib/libc-client.so.2007", "libc"));
  EXPECT_FALSE(is_library("/lib/libm/other.so", "libm"));
  EXPECT_FALSE(is_library("/lib/libmpfr.so.6", "libm"));
  EXPECT_FALSE(is_library("/lib/libc-.so", "libc"));
  EXPECT_TRUE(is_library("/lib/libnss_files.so.2", "libnss_*"));
  EXPECT_FALSE(is_library("/lib/libnss.so.2", "libnss_*"));
}

TEST(LibraryChoice, FollowsTheListAndTheSettings) {
  config::Settings settings;
  settings.private_libraries = "libone:libtwo*";
  settings.shared_libraries = "libibverbs";
  const LibraryChoice choice(settings);
  EXPECT_TRUE(choice.is_named_private("/lib/libc.so.6"));
  EXPECT_TRUE(choice.is_named_private("/lib/librdmacm.so.1"));
  EXPECT_FALSE(choice.is_named_private("/lib/libibverbs.so.1"));
  EXPECT_FALSE(choice.is_named_private("/lib/libgfortran.so.5"));
  EXPECT_TRUE(choice.is_named_private("/opt/libone.so"));
  EXPECT_TRUE(choice.is_named_private("/opt/libtwofold.so.3"));
  EXPECT_FALSE(choice.is_named_private("/opt/libthree.so"));
}

TEST(LibraryChoice, SharesTheProgramAndNotTheCLibrary) {
  LibraryChoice choice{config::Settings{}};
  const auto objects = linked_objects();
  choice.decide(objects);
  EXPECT_TRUE(choice.is_shared(*objects.front()));
  bool seen = false;
  for (const link_map* object : objects) {
    if (!is_library(object->l_name, "libc")) continue;
    seen = true;
    EXPECT_FALSE(choice.is_shared(*object));
  }
  EXPECT_TRUE(seen);
}

// A library that a private library needs is private too, although no list names it.
TEST(LibraryChoice, KeepsWhatPrivateLibrariesNeed) {
  config::Settings settings;
  settings.shared_libraries = "libc:libm:libgcc_s:ld-linux*";
  LibraryChoice without{settings};
  const auto objects = linked_objects();
  const auto find = [&](const char* name) -> const link_map* {
    for (const link_map* object : objects) {
      if (is_library(object->l_name, name)) return object;
    }
    return nullptr;
  };
  const link_map* const cxx = find("libstdc++");
  ASSERT_NE(cxx, nullptr);
  bool needs_it = false;
  for (const link_map* needed : needed_by(*cxx, objects)) needs_it = needs_it || needed == find("libm");
  EXPECT_TRUE(needs_it);
  without.decide(objects);
  EXPECT_TRUE(without.is_shared(*find("libm"))) << "named by the setting";
  EXPECT_FALSE(without.is_shared(*cxx));
}

TEST(ExportedAddress, FindsWhatALibraryDefines) {
  for (const link_map* object : linked_objects()) {
    if (!is_library(object->l_name, "libc")) continue;
    EXPECT_EQ(exported_address(*object, "dlsym"), dlsym(RTLD_DEFAULT, "dlsym"));
    EXPECT_EQ(exported_address(*object, "no_such_symbol_anywhere"), nullptr);
    return;
  }
  FAIL() << "no C library";
}

}  // namespace
}  // namespace musubi::image
