// The notation of places, and their distribution to the threads of a team.
#include <gtest/gtest.h>

#include "omp/place_list.h"
#include "omp/place_partition.h"

namespace musubi::omp {
namespace {

using os::Processors;
using Places = std::vector<Processors>;

Places listed(std::string_view text) {
  const auto list = parse_places(text);
  return list ? list->places : Places{};
}

TEST(PlaceList, ReadsPlacesOneByOne) {
  EXPECT_EQ(listed("{0,1},{2,3}"), (Places{{0, 1}, {2, 3}}));
  EXPECT_EQ(listed(" { 0 : 4 } , {4:4} "), (Places{{0, 1, 2, 3}, {4, 5, 6, 7}}));
  EXPECT_EQ(listed("{0:2:4}:3:8"), (Places{{0, 4}, {8, 12}, {16, 20}}));
  EXPECT_EQ(listed("{3,2,2}"), (Places{{2, 3}}));
  EXPECT_EQ(listed("{6}:3:-2"), (Places{{6}, {4}, {2}}));
  EXPECT_EQ(listed("{0:4,!2}"), (Places{{0, 1, 3}}));
  EXPECT_EQ(listed("{0}:4,!{2}"), (Places{{0}, {1}, {3}}));
  EXPECT_EQ(listed("5,7"), (Places{{5}, {7}}));
}

TEST(PlaceList, ReadsKinds) {
  const auto cores = parse_places("Cores(3)");
  ASSERT_TRUE(cores);
  EXPECT_EQ(cores->kind, os::ProcessorGroup::cores);
  EXPECT_EQ(cores->count_max, 3u);
  for (const char* kind : {"threads", "ll_caches", "numa_domains", "sockets"})
    EXPECT_TRUE(parse_places(kind)) << kind;
}

TEST(PlaceList, RefusesOtherTexts) {
  for (const char* text : {"", "core", "cores(0)", "cores(2", "cores 2x", "{", "{}", "{0", "{0}}", "{0},",
                           "{-1}", "{0}:0", "{0}:2:-1", "{0:x}", "{0}{1}", "{99999999}"})
    EXPECT_FALSE(parse_places(text)) << text;
}

TEST(PlaceList, KeepsWhatARankMayUse) {
  EXPECT_EQ(places_among(*parse_places("{0,1},{2,3},{4}"), {1, 2, 3}), (Places{{1}, {2, 3}}));
  EXPECT_EQ(places_among(*parse_places("{8}"), {1, 2}), (Places{{1, 2}}));
  EXPECT_EQ(places_among(*parse_places("threads(2)"), {1, 4, 6}), (Places{{1}, {4}}));
}

TEST(BindList, ReadsPolicies) {
  using enum ProcBind;
  EXPECT_EQ(parse_bind_list("true"), (std::vector{yes}));
  EXPECT_EQ(parse_bind_list("FALSE"), (std::vector{no}));
  EXPECT_EQ(parse_bind_list("spread, close ,master,primary"), (std::vector{spread, close, primary, primary}));
  for (const char* text : {"", "near", "close,", "close,true", "1"})
    EXPECT_FALSE(parse_bind_list(text)) << text;
}

struct Distribution {
  std::vector<std::uint32_t> places;
  std::vector<std::uint32_t> partitions;  // their sizes
  bool operator==(const Distribution&) const = default;
};

Distribution distribute(ProcBind bind, std::uint32_t threads, const PlacePartition& partition,
                        std::uint32_t place) {
  Distribution result;
  for (std::uint32_t i = 0; i < threads; ++i) {
    const PlaceOfThread found = place_of_thread(bind, threads, i, partition, place);
    result.places.push_back(found.place);
    result.partitions.push_back(found.partition.count);
  }
  return result;
}

TEST(PlaceOfThread, FollowsThePolicy) {
  const PlacePartition eight{0, 8}, part{4, 4};
  EXPECT_EQ(distribute(ProcBind::primary, 3, eight, 5), (Distribution{{5, 5, 5}, {8, 8, 8}}));
  EXPECT_EQ(distribute(ProcBind::close, 4, eight, 6), (Distribution{{6, 7, 0, 1}, {8, 8, 8, 8}}));
  EXPECT_EQ(distribute(ProcBind::yes, 3, part, 7), (Distribution{{7, 4, 5}, {4, 4, 4}}));
  EXPECT_EQ(distribute(ProcBind::spread, 4, eight, 0), (Distribution{{0, 2, 4, 6}, {2, 2, 2, 2}}));
  EXPECT_EQ(distribute(ProcBind::spread, 3, eight, 3), (Distribution{{3, 5, 0}, {3, 3, 2}}));
  EXPECT_EQ(distribute(ProcBind::spread, 1, part, 6), (Distribution{{6}, {4}}));
}

TEST(PlaceOfThread, SharesPlacesAmongMoreThreads) {
  const PlacePartition two{2, 2};
  EXPECT_EQ(distribute(ProcBind::close, 5, two, 3), (Distribution{{3, 3, 3, 2, 2}, {2, 2, 2, 2, 2}}));
  EXPECT_EQ(distribute(ProcBind::spread, 4, two, 2), (Distribution{{2, 2, 3, 3}, {1, 1, 1, 1}}));
}

}  // namespace
}  // namespace musubi::omp
