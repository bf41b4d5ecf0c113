// What is found of the stores of functions that the compiler made.
#include "atomics/store_bounds.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string_view>

#include "store_subjects.h"

namespace musubi::atomics {
namespace {

const subject* const levels[] = {subjects_0, subjects_1, subjects_2, subjects_3};
const void* const flags[] = {flag_0, flag_1, flag_2, flag_3};

std::uintptr_t address_of(const subject& subject) {
  return reinterpret_cast<std::uintptr_t>(subject.function);
}

const subject& find(const subject* subjects, std::string_view name) {
  while (subjects->name != name) ++subjects;
  return *subjects;
}

bool holds(const StoreBound& bound, const void* place) {
  for (const NarrowPlace& exception : bound.exceptions) {
    if (exception.address == reinterpret_cast<std::uintptr_t>(place)) return exception.bytes == 1;
  }
  return false;
}

TEST(StoreBounds, AreThoseOfTheNarrowestStore) {
  for (unsigned level = 0; level < 4; ++level) {
    StoreBounds bounds;
    for (const subject* subject = levels[level]; subject->name != nullptr; ++subject) {
      EXPECT_EQ(bounds.of(address_of(*subject)).bytes, subject->bytes) << subject->name << " -O" << level;
    }
  }
}
TEST(StoreBounds, DoNotDependOnWhatWasLookedAtBefore) {
  for (unsigned level = 0; level < 4; ++level) {
    const subject* last = levels[level];
    while (last[1].name != nullptr) ++last;
    StoreBounds bounds;
    for (const subject* subject = last; subject >= levels[level]; --subject) {
      EXPECT_EQ(bounds.of(address_of(*subject)).bytes, subject->bytes) << subject->name << " -O" << level;
      EXPECT_EQ(bounds.of(address_of(*subject)).bytes, subject->bytes) << subject->name << " again";
    }
  }
}
TEST(StoreBounds, KnownPlacesAreExceptions) {
  for (unsigned level = 0; level < 4; ++level) {
    StoreBounds bounds;
    EXPECT_FALSE(holds(bounds.of(address_of(find(levels[level], "store_ints"))), flags[level]));
    EXPECT_TRUE(holds(bounds.of(address_of(find(levels[level], "store_global_flag"))), flags[level]))
        << "-O" << level;
  }
}
TEST(StoreBounds, WhatIsNoCodeMayStoreBytes) {
  StoreBounds bounds;
  static const int data = 1;
  EXPECT_EQ(bounds.of(reinterpret_cast<std::uintptr_t>(&data)).bytes, 1u);
  EXPECT_EQ(bounds.of(0x1000).bytes, 1u);
}

}  // namespace
}  // namespace musubi::atomics
