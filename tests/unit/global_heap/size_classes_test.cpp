#include "global_heap/layout.h"

#include <gtest/gtest.h>

namespace musubi::global_heap {
namespace {

TEST(GlobalHeapSizeClasses, EachSizeHasTheSmallestClassThatHoldsIt) {
  for (std::uint64_t bytes = 0; bytes <= 600'000; bytes += bytes < 5000 ? 1 : 97) {
    const unsigned size_class = class_of(bytes);
    EXPECT_GE(object_bytes(size_class), bytes);
    if (size_class != 0) {
      EXPECT_LT(object_bytes(size_class - 1), bytes);
    }
  }
  for (unsigned size_class = 0; size_class < class_count; ++size_class) {
    EXPECT_EQ(class_of(object_bytes(size_class)), size_class);
    if (size_class + 1 < class_count) {
      EXPECT_EQ(class_of(object_bytes(size_class) + 1), size_class + 1);
    }
  }
}

TEST(GlobalHeapSizeClasses, AboveSixtyFourBytesAQuarterAtMostIsLostInAnObject) {
  for (unsigned size_class = 4; size_class < class_count; ++size_class) {
    EXPECT_LE(object_bytes(size_class) * 4, (object_bytes(size_class - 1) + 1) * 5) << size_class;
  }
}

TEST(GlobalHeapSizeClasses, ObjectsAreAlignedAndASpanIsNearlyFull) {
  for (unsigned size_class = 0; size_class < class_count; ++size_class) {
    EXPECT_EQ(object_bytes(size_class) % granule_bytes, 0u);
    const std::uint64_t span = span_units(size_class) * unit_bytes;
    const std::uint64_t used = span_objects(size_class) * object_bytes(size_class);
    EXPECT_LE(used, span);
    EXPECT_LE((span - used) * 8, span) << size_class;
    if (size_class >= cached_class_count) {
      EXPECT_EQ(used, span) << size_class;
    }
  }
}

TEST(GlobalHeapSizeClasses, BatchHoldsAUnitAtMostOrOneObject) {
  EXPECT_EQ(batch_objects(0), batch_objects_max);
  for (unsigned size_class = 0; size_class < class_count; ++size_class) {
    const unsigned objects = batch_objects(size_class);
    EXPECT_LE(objects, batch_objects_max);
    EXPECT_TRUE(objects == 1 || objects * object_bytes(size_class) <= unit_bytes) << size_class;
  }
}

}  // namespace
}  // namespace musubi::global_heap
