// Results of the analysis of stores in functions that the compiler made.
#include "stores/store_bounds.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "subjects.h"

namespace musubi::stores {
namespace {

constexpr std::size_t elements = 64;

// Arrays of a heap, apart from each other, and the stack with the argument record.
class Program final : public MemoryKinds {
 public:
  Program() {
    record.ints = static_cast<int*>(add(elements * sizeof(int)));
    record.longs = static_cast<long*>(add(elements * sizeof(long)));
    record.doubles = static_cast<double*>(add(elements * sizeof(double)));
    record.chars = static_cast<char*>(add(elements));
    record.nodes = static_cast<node*>(add(elements * sizeof(node)));
    record.points = static_cast<point*>(add(elements * sizeof(point) + sizeof(int), sizeof(int)));
    record.packed = static_cast<packed_number*>(add(elements * sizeof(packed_number)));
    record.holder = static_cast<holder*>(add(sizeof(holder)));
    record.holder->ints = record.ints;
    record.holder->chars = record.chars;
    record.order = static_cast<const int*>(add(elements * sizeof(int)));
    record.other = static_cast<struct record*>(add(sizeof record));
    record.count = 4;
  }

  Kind kind_of(std::uintptr_t address) const noexcept override {
    return frames().contains(address) ? Kind::stack : Kind::shared;
  }
  AddressRange allocations_at(std::uintptr_t address) const noexcept override {
    for (const AddressRange& allocation : allocations_) {
      if (allocation.contains(address)) return allocation;
    }
    return {0, ~std::size_t{0}};
  }
  StoreBound look(const subject& subject) {
    StoreBounds bounds(*this);
    return bounds.of(reinterpret_cast<std::uintptr_t>(subject.function), begin());
  }
  Begin begin() const { return {reinterpret_cast<std::uintptr_t>(&record), frames()}; }
  // The widest piece around `place` that is left whole.
  static unsigned unit_at(const StoreBound& bound, const void* place) {
    const auto address = reinterpret_cast<std::uintptr_t>(place);
    for (unsigned bytes = 8; bytes > 1; bytes /= 2) {
      if (bound.unit_at(address / bytes * bytes, bytes) == bytes) return bytes;
    }
    return 1;
  }

  struct record record {};

 private:
  AddressRange frames() const { return {reinterpret_cast<std::uintptr_t>(&record), sizeof record}; }
  void* add(std::size_t bytes, std::size_t offset = 0) {
    memory_.emplace_back(bytes + 64);
    const std::uintptr_t begin = (reinterpret_cast<std::uintptr_t>(memory_.back().data()) + 15) / 16 * 16;
    allocations_.push_back({begin, bytes});
    return reinterpret_cast<void*>(begin + offset);
  }

  std::vector<std::vector<char>> memory_;
  std::vector<AddressRange> allocations_;
};

const subject* const levels[] = {subjects_0, subjects_1, subjects_2, subjects_3};

template <class Visit>
void for_each_subject(Visit&& visit) {
  for (unsigned level = 0; level < 4; ++level) {
    for (const subject* subject = levels[level]; subject->name != nullptr; ++subject)
      visit(*subject, std::string(subject->name) + " -O" + std::to_string(level));
  }
}

TEST(StoreBounds, AreThoseOfTheWidestStoreButForNarrowPlaces) {
  Program program;
  for_each_subject([&](const subject& subject, const std::string& name) {
    const StoreBound bound = program.look(subject);
    EXPECT_EQ(Program::unit_at(bound, program.record.ints), subject.ints) << name << " ints";
    EXPECT_EQ(Program::unit_at(bound, program.record.longs), subject.longs) << name << " longs";
    EXPECT_EQ(Program::unit_at(bound, program.record.chars), subject.chars) << name << " chars";
  });
}

// As LLVM's compilers pass what a region captures: its record, word by word. The last two are on the stack.
[[gnu::noinline, gnu::used]] void get_words(int* global, int* own, int* ints, long* longs, double*, char*,
                                            node*, point* points) {
  for (int i = *own; i < 8; ++i) {
    ints[i] = *global;
    longs[i] = i;
    points[i].y = i;
  }
}

TEST(StoreBounds, FollowWordsThatARegionGets) {
  Program program;
  StoreBounds bounds(program);
  const StoreBound bound =
      bounds.of(reinterpret_cast<std::uintptr_t>(&get_words), program.begin(), Passes::words);
  EXPECT_EQ(Program::unit_at(bound, program.record.ints), 4u);
  EXPECT_EQ(Program::unit_at(bound, program.record.longs), 8u);
  EXPECT_EQ(Program::unit_at(bound, program.record.points), 4u);
}

TEST(StoreBounds, DoNotDependOnWhatWasLookedAtBefore) {
  Program program;
  StoreBounds bounds(program);
  for (unsigned turn = 0; turn < 2; ++turn) {
    for_each_subject([&](const subject& subject, const std::string& name) {
      const StoreBound bound = bounds.of(reinterpret_cast<std::uintptr_t>(subject.function), program.begin());
      EXPECT_EQ(Program::unit_at(bound, program.record.ints), subject.ints) << name;
    });
  }
}

// The field at its offset: lengths of 8 bytes, marks of 2 and of 1.
TEST(StoreBounds, FieldsOfStructuresAreToldApart) {
  Program program;
  for_each_subject([&](const subject& subject, const std::string& name) {
    if (std::string_view(subject.name) != "store_fields") return;
    const StoreBound bound = program.look(subject);
    EXPECT_EQ(Program::unit_at(bound, &program.record.nodes[3].length), 8u) << name;
    EXPECT_EQ(bound.unit_at(reinterpret_cast<std::uintptr_t>(&program.record.nodes[3].mark), 4), 1u) << name;
  });
}

// After a header of one int, no word of 8 bytes is one value.
TEST(StoreBounds, AnAddressIsTakenForAsRoundAsItIs) {
  Program program;
  for_each_subject([&](const subject& subject, const std::string& name) {
    if (std::string_view(subject.name) != "copy_points") return;
    const StoreBound bound = program.look(subject);
    EXPECT_EQ(Program::unit_at(bound, program.record.points + 3), 4u) << name;
  });
}

TEST(StoreBounds, StaticVariablesAreToldApart) {
  Program program;
  for_each_subject([&](const subject& subject, const std::string& name) {
    const auto units = [&](unsigned of_flag, unsigned of_table, unsigned of_lengths) {
      const StoreBound bound = program.look(subject);
      EXPECT_EQ(Program::unit_at(bound, statics_of(subject.level)->flag), of_flag) << name;
      EXPECT_EQ(Program::unit_at(bound, statics_of(subject.level)->table), of_table) << name;
      EXPECT_EQ(Program::unit_at(bound, statics_of(subject.level)->lengths), of_lengths) << name;
    };
    const std::string_view what = subject.name;
    if (what == "store_ints") units(4, 4, 4);
    if (what == "store_global_flag") units(1, 4, 4);
    if (what == "store_to_static_arrays") units(8, 1, 8);
  });
}

TEST(StoreBounds, WhatIsNoCodeMayStoreBytes) {
  Program program;
  StoreBounds bounds(program);
  static const int data = 1;
  EXPECT_EQ(bounds.of(reinterpret_cast<std::uintptr_t>(&data), program.begin()).bytes, 1u);
  EXPECT_EQ(bounds.of(0x1000, program.begin()).bytes, 1u);
}

}  // namespace
}  // namespace musubi::stores
