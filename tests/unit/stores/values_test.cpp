// After each operation of code the analysis knows no more about an address than is true.
#include "stores/value.h"

#include <gtest/gtest.h>

#include "base/store_bound.h"
#include "stores/bound_builder.h"

namespace musubi::stores {
namespace {

constexpr Root array = Root::first_found, other = static_cast<Root>(static_cast<int>(array) + 1);
const Value index{};

Value number(std::int64_t value) {
  return Value::exactly(Root::number, value);
}
Value elements(std::int64_t offset, std::uint32_t stride) {
  return {array, false, stride, offset};
}

TEST(Values, AnElementIsBaseAndIndexTimesScale) {
  const Value element = sum(Value::exactly(array, 0), product(index, 8));
  EXPECT_EQ(element, elements(0, 8));
  EXPECT_EQ(sum(element, number(4)), elements(4, 8));
  EXPECT_EQ(sum(Value::exactly(array, 0), sum(product(index, 12), product(index, 8))), elements(0, 4));
}
TEST(Values, APointerThatIsRaisedGoesInSteps) {
  const Value first = Value::exactly(array, 16);
  EXPECT_EQ(joined(first, sum(first, number(24))), elements(16, 24));
  EXPECT_EQ(joined(elements(16, 24), elements(40, 24)), elements(16, 24));
  EXPECT_EQ(joined(elements(16, 24), elements(28, 24)), elements(16, 12));
}
TEST(Values, OfTwoArraysNothingIsKnown) {
  EXPECT_TRUE(joined(Value::exactly(array, 0), Value::exactly(other, 0)).is_anything());
  EXPECT_TRUE(sum(Value::exactly(array, 0), Value::exactly(other, 0)).is_anything());
  EXPECT_TRUE(difference(Value::exactly(array, 0), Value::exactly(other, 0)).is_anything());
  EXPECT_TRUE(product(Value::exactly(array, 0), 2).is_anything());
  EXPECT_TRUE(cut_to_32_bits(Value::exactly(array, 0), false).is_anything());
}
// The word that led to an array may point elsewhere when it is loaded again.
TEST(Values, OnlyInOnePlaceADistanceIsANumber) {
  EXPECT_TRUE(difference(Value::exactly(array, 8), Value::exactly(array, 0)).is_anything());
  EXPECT_TRUE(difference(Value::exactly(Root::fresh, 0), Value::exactly(Root::fresh, 0)).is_anything());
  const Value frame = Value::exactly(Root::frame, 24);
  EXPECT_EQ(difference(frame, Value::exactly(Root::frame, 8)), number(16));
}
TEST(Values, APointerToTheFrameThatIsLoweredGoesBackward) {
  const auto in_steps = [](std::int64_t offset) { return Value{Root::frame, false, 8, offset}; };
  const Value either = joined(Value::exactly(Root::frame, 16), Value::exactly(Root::frame, 8));
  EXPECT_EQ(either, in_steps(8));
  EXPECT_TRUE(joined(either, in_steps(0)).backward);
  EXPECT_EQ(joined(either, in_steps(16)), either);
}
TEST(Values, SumsOf32BitsKeepPowersOfTwoOnly) {
  EXPECT_EQ(cut_to_32_bits(product(index, 12), false), product(index, 4));
  EXPECT_EQ(cut_to_32_bits(number(-1), false), number(0xffffffff));
  EXPECT_EQ(cut_to_32_bits(number(0xffffffff), true), number(-1));
}
TEST(Values, ANegatedIndexGoesBackward) {
  EXPECT_TRUE(sum(Value::exactly(array, 0), negated(index)).backward);
  EXPECT_TRUE(difference(number(0), index).backward);
  EXPECT_FALSE(difference(index, index).backward);
  EXPECT_FALSE(difference(elements(8, 8), number(8)).backward);
}

TEST(NarrowPlaces, AreMetInTheirStepsOnly) {
  const NarrowPlace marks{.begin = 1000, .end = 1160, .origin = 1008, .stride = 16, .bytes = 2, .unit = 1};
  EXPECT_TRUE(marks.touches(1008, 8));
  EXPECT_TRUE(marks.touches(1008, 4));
  EXPECT_FALSE(marks.touches(1012, 4));
  EXPECT_FALSE(marks.touches(1016, 8));
  EXPECT_TRUE(marks.touches(1152, 8));
  EXPECT_FALSE(marks.touches(1168, 8));
  EXPECT_FALSE(marks.touches(992, 8));
  const NarrowPlace across{.begin = 0, .end = 100, .origin = 6, .stride = 16, .bytes = 4, .unit = 2};
  EXPECT_TRUE(across.touches(0, 8));
  EXPECT_TRUE(across.touches(8, 8));
  EXPECT_FALSE(across.touches(12, 4));
  EXPECT_TRUE(across.touches(20, 4));
  const NarrowPlace one{.begin = 50, .end = 51, .origin = 50, .stride = 0, .bytes = 1, .unit = 1};
  EXPECT_TRUE(one.touches(48, 4));
  EXPECT_FALSE(one.touches(52, 4));
}

TEST(StoreBounds, TellHowWideEachWordIs) {
  StoreBound bound{.bytes = 8, .place_count = 2};
  bound.places[0] = {.begin = 80, .end = 160, .origin = 80, .stride = 16, .bytes = 4, .unit = 4};
  bound.places[1] = {.begin = 80, .end = 160, .origin = 84, .stride = 16, .bytes = 1, .unit = 1};
  EXPECT_EQ(bound.unit_at(72, 8), 8u);
  EXPECT_EQ(bound.unit_at(80, 8), 1u);
  EXPECT_EQ(bound.unit_at(80, 4), 4u);
  EXPECT_EQ(bound.unit_at(84, 4), 1u);
  EXPECT_EQ(bound.unit_at(88, 8), 8u);
}

NarrowPlace marks_at(std::uintptr_t origin, std::uint32_t stride) {
  return {.begin = 1000, .end = 9000, .origin = origin, .stride = stride, .bytes = 2, .unit = 1};
}

TEST(BoundBuilder, StoresOfAnUnrolledLoopAreOnePlace) {
  BoundBuilder builder(8);
  for (std::uintptr_t i = 0; i < 64; ++i) EXPECT_TRUE(builder.add(marks_at(1008 + 16 * i, 1024)));
  EXPECT_TRUE(builder.add(marks_at(1008, 16)));
  EXPECT_TRUE(builder.add(marks_at(1024, 128)));
  EXPECT_EQ(builder.bound().bytes, 8u);
  for (std::uintptr_t word = 1000; word < 3000; word += 8)
    EXPECT_EQ(builder.bound().unit_at(word, 8), (word - 1000) % 16 == 8 ? 1u : 8u) << word;
}

TEST(BoundBuilder, WithoutRoomNoWordOf8BytesIsLeftWhole) {
  BoundBuilder builder(8);
  const auto place = [](std::uintptr_t i, std::uint16_t unit) {
    return NarrowPlace{.begin = 100 * i, .end = 100 * i + 4, .origin = 100 * i, .bytes = 4, .unit = unit};
  };
  for (std::uintptr_t i = 1; i <= 100; ++i) EXPECT_TRUE(builder.add(place(i, i % 10 == 0 ? 2 : 4)));
  EXPECT_EQ(builder.bound().bytes, 4u);
  EXPECT_EQ(builder.bound().place_count, 10u);
  for (std::uintptr_t i = 101; i <= 106; ++i) EXPECT_TRUE(builder.add(place(i, 1)));
  EXPECT_FALSE(builder.add(place(107, 1)));
}

}  // namespace
}  // namespace musubi::stores
