// Reads the notes of compiled objects.
#include "checks/notes.h"

#include <elf.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>

#include "checks/abi.h"

namespace musubi::checks {
namespace {

class Segment {
 public:
  Segment& add(std::string_view name, std::uint32_t type, std::span<const std::byte> description) {
    const Elf64_Nhdr header{static_cast<Elf64_Word>(name.size()), static_cast<Elf64_Word>(description.size()),
                            type};
    append(std::as_bytes(std::span(&header, 1)));
    append(std::as_bytes(std::span(name)));
    append(description);
    return *this;
  }
  Segment& add_checks(std::uint32_t abi, std::uint32_t shift, std::uint32_t complete, std::string_view why) {
    std::vector<std::byte> description(16 + why.size() + 1);
    const std::uint32_t words[]{abi, shift, MUSUBI_CHECKS_HINT, complete};
    std::memcpy(description.data(), words, sizeof words);
    if (!why.empty()) std::memcpy(description.data() + sizeof words, why.data(), why.size());
    return add(std::string_view("Musubi\0", 7), MUSUBI_CHECKS_NOTE_TYPE, description);
  }
  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  void append(std::span<const std::byte> part) {
    bytes_.insert(bytes_.end(), part.begin(), part.end());
    bytes_.resize((bytes_.size() + 3) / 4 * 4);
  }
  std::vector<std::byte> bytes_;
};

TEST(Notes, ThoseOfChecksAreFoundAmongOthers) {
  const std::byte other[6]{};
  Segment segment;
  segment.add(std::string_view("GNU\0", 4), 1, other)
      .add_checks(1, 12, 1, "")
      .add(std::string_view("Musubi\0", 7), 99, other)
      .add_checks(1, 6, 0, "a.c:12: asm");
  const std::vector<Note> notes = notes_in(segment.bytes());
  ASSERT_EQ(notes.size(), 2u);
  EXPECT_EQ(notes[0].granule_shift, 12u);
  EXPECT_TRUE(notes[0].is_complete);
  EXPECT_EQ(notes[0].mode, unsigned{MUSUBI_CHECKS_HINT});
  EXPECT_FALSE(notes[1].is_complete);
  EXPECT_EQ(notes[1].why_not, "a.c:12: asm");
}

// After the reason: calls with their places, and definitions, each list with an empty text at its end.
TEST(Notes, NameTheFunctionsThatAnObjectCallsAndHas) {
  using namespace std::string_view_literals;
  Segment segment;
  segment.add_checks(2, 12, 1, "\0fill\0at a.c:3\0sum\0by pointer\0\0main\0work\0"sv);
  const std::vector<Note> notes = notes_in(segment.bytes());
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_EQ(notes[0].why_not, "");
  ASSERT_EQ(notes[0].calls.size(), 2u);
  EXPECT_EQ(notes[0].calls[0].name, "fill");
  EXPECT_EQ(notes[0].calls[0].place, "at a.c:3");
  EXPECT_EQ(notes[0].calls[1].name, "sum");
  EXPECT_EQ(notes[0].definitions, (std::vector<std::string>{"main", "work"}));
}

TEST(Notes, DamagedOnesArePassedOver) {
  Segment segment;
  segment.add_checks(1, 12, 1, "");
  for (std::size_t length = 0; length < segment.bytes().size(); ++length)
    EXPECT_TRUE(notes_in(segment.bytes().first(length)).empty()) << length;
  Segment brief;
  const std::byte word[4]{};
  brief.add(std::string_view("Musubi\0", 7), MUSUBI_CHECKS_NOTE_TYPE, word);
  EXPECT_TRUE(notes_in(brief.bytes()).empty());
}

CheckedObject object(const char* name, std::uint32_t abi, std::uint32_t shift) {
  return {name, {abi, shift, MUSUBI_CHECKS_HINT, true, ""}};
}

TEST(Notes, ObjectsOfOneGranuleGoTogether) {
  const CheckedObject objects[]{object("a", MUSUBI_CHECKS_ABI, 9), object("b", MUSUBI_CHECKS_ABI, 9)};
  EXPECT_EQ(common_granule(objects).value(), 9u);
  EXPECT_EQ(common_granule({}).value(), std::nullopt);
}

TEST(Notes, AnObjectThatLeavesAccessesUncheckedIsNamed) {
  const CheckedObject all{"a", {MUSUBI_CHECKS_ABI, 9, MUSUBI_CHECKS_UDSM, true, ""}};
  const CheckedObject part{"b.so", {MUSUBI_CHECKS_ABI, 9, MUSUBI_CHECKS_UDSM, false, "b.c:12: assembly"}};
  const CheckedObject hints{"c.so", {MUSUBI_CHECKS_ABI, 9, MUSUBI_CHECKS_HINT, true, ""}};
  const CheckedObject stores{"d.so", {MUSUBI_CHECKS_ABI, 9, MUSUBI_CHECKS_ADSM, true, ""}};
  EXPECT_TRUE(check_all_accesses(std::array{all, all}).ok());
  const auto error = [](std::span<const CheckedObject> objects) {
    return check_all_accesses(objects).error().message;
  };
  EXPECT_NE(error({}).find("no object of the program has checks"), std::string::npos);
  EXPECT_NE(error(std::array{all, part}).find("of b.so are checked (b.c:12: assembly)"), std::string::npos);
  EXPECT_NE(error(std::array{all, hints}).find("of c.so are checked"), std::string::npos);
  EXPECT_NE(error(std::array{stores, all}).find("of d.so are checked"), std::string::npos);
}

TEST(Notes, ACallOfCodeWithoutChecksIsNamed) {
  const Note calling{MUSUBI_CHECKS_ABI, 9, MUSUBI_CHECKS_UDSM, true, "", {{"fill", "at a.c:3"}}, {"main"}};
  const Note called{MUSUBI_CHECKS_ABI, 9, MUSUBI_CHECKS_UDSM, true, "", {{"main", "by pointer"}}, {"fill"}};
  const std::array alone{CheckedObject{"a", calling}};
  const std::array both{CheckedObject{"a", calling}, CheckedObject{"b.so", called}};
  EXPECT_TRUE(check_all_accesses(both).ok());
  ASSERT_FALSE(check_all_accesses(alone).ok());
  EXPECT_NE(check_all_accesses(alone).error().message.find("of a are checked (a call of fill at a.c:3"),
            std::string::npos);
}

TEST(Notes, AnErrorNamesTheObject) {
  const CheckedObject mixed[]{object("a", MUSUBI_CHECKS_ABI, 9), object("b.so", MUSUBI_CHECKS_ABI, 10)};
  const auto found = common_granule(mixed);
  ASSERT_FALSE(found.ok());
  EXPECT_NE(found.error().message.find("b.so have granules of 1024 bytes, in a of 512"), std::string::npos)
      << found.error().message;
  const CheckedObject later[]{object("a", MUSUBI_CHECKS_ABI, 9), object("c", MUSUBI_CHECKS_ABI + 1, 9)};
  ASSERT_FALSE(common_granule(later).ok());
  EXPECT_NE(common_granule(later).error().message.find("in c follow contract"), std::string::npos);
  for (const std::uint32_t shift : {0u, 5u, 13u, 64u, ~0u}) {
    const CheckedObject odd[]{object("a", MUSUBI_CHECKS_ABI, shift)};
    EXPECT_FALSE(common_granule(odd).ok()) << shift;
  }
}

}  // namespace
}  // namespace musubi::checks
