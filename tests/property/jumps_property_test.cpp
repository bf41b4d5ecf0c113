// Jumps that share bytes with the code after them (atomics/x86_64_plan.h): for any bytes they
// land at their targets, change no foreign byte, and no two targets overlap.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

#include "atomics/x86_64_plan.h"
#include "seeds.h"

namespace musubi::atomics::x86_64 {
namespace {

// The target of the bytes at `address`: prefixes, then a near or a short jump; or none.
std::optional<std::uintptr_t> target_of(const std::map<std::uintptr_t, std::uint8_t>& memory,
                                        std::uintptr_t address) {
  auto byte = [&](std::uintptr_t at) { return memory.count(at) != 0 ? memory.at(at) : std::uint8_t{0}; };
  while (byte(address) == 0x3e) ++address;
  if (byte(address) == 0xeb) {
    return target_of(memory,
                     address + 2 + static_cast<std::uintptr_t>(static_cast<std::int8_t>(byte(address + 1))));
  }
  if (byte(address) != 0xe9) return std::nullopt;
  std::uint32_t distance = 0;
  for (unsigned i = 0; i < 4; ++i) distance |= std::uint32_t{byte(address + 1 + i)} << (8 * i);
  return address + 5 + static_cast<std::uintptr_t>(static_cast<std::int32_t>(distance));
}

struct Code {
  std::map<std::uintptr_t, std::uint8_t> memory;
  std::vector<Site> sites;
  std::vector<CodeRange> padding;
};

// Sites of two to nine bytes, close to each other, among random bytes and some padding.
Code draw_code(Random& random, std::uintptr_t at) {
  Code code;
  const std::uintptr_t begin = at;
  for (std::size_t i = random.between(1, 60); i > 0; --i) {
    if (random.chance(20)) {
      at = (at + 15) / 16 * 16;
      const std::size_t bytes = random.between(2, 15);
      code.padding.push_back({at, bytes});
      at += bytes;
    }
    Site site;
    site.address = at;
    site.bytes = static_cast<std::uint8_t>(random.between(2, 9));
    site.entered_inside = random.chance(5);
    code.sites.push_back(site);
    at += site.bytes + (random.chance(40) ? 0 : random.below(12));
  }
  for (std::uintptr_t byte = begin; byte < at + 16; ++byte) {
    code.memory[byte] = static_cast<std::uint8_t>(random.next());
  }
  for (Site& site : code.sites) {
    site.code_bytes = static_cast<std::uint8_t>(site.bytes + (random.chance(90) ? 4 : random.below(4)));
    for (std::size_t i = 0; i < site.code_bytes; ++i) site.code[i] = code.memory[site.address + i];
  }
  return code;
}

TEST(JumpsProperty, LeadToTheirStubsAndChangeNothingElse) {
  std::size_t overlapping_jumps = 0, traps = 0;
  property::for_all(2000, [&](Random& random) {
    const bool is_low = random.chance(30);
    const std::uintptr_t base = is_low ? 0x401000 : 0x555555554000 + 0x1000 * random.below(1 << 20);
    Code code = draw_code(random, base);
    const auto before = code.memory;
    std::set<std::uintptr_t> pages;
    Plan plan(code.padding,
              OverlappingJumps(
                  {{0x10000, base - 0x1000}, {base + 0x100000, std::uintptr_t{1} << 47}},
                  [&](std::uintptr_t page) { return random.chance(90) && pages.insert(page).second; }));
    std::map<std::uintptr_t, std::uintptr_t> stub_of;
    for (std::size_t i = code.sites.size(); i-- > 0;) {
      stub_of[code.sites[i].address] = base + 0x40000 + i * 0x100;
      plan.add(code.sites[i], stub_of[code.sites[i].address]);
    }
    std::set<std::uintptr_t> changed;
    for (const Change& change : plan.changes()) {
      for (std::size_t i = 0; i < change.bytes; ++i) {
        code.memory[change.address + i] = change.code[i];
        ASSERT_TRUE(changed.insert(change.address + i).second) << "changed twice";
      }
    }
    std::map<std::uintptr_t, std::uintptr_t> targets;
    for (const TrampolineTarget& target : plan.targets()) {
      ASSERT_TRUE(targets.emplace(target.address, target.stub).second);
      ASSERT_EQ(pages.count(target.address & ~0xfffull), 1u);
      ASSERT_EQ(pages.count((target.address + target_bytes - 1) & ~0xfffull), 1u);
    }
    for (auto next = targets.begin(); next != targets.end() && std::next(next) != targets.end(); ++next) {
      ASSERT_GE(std::next(next)->first - next->first, target_bytes);
    }
    std::set<std::uintptr_t> trapped;
    for (const TrapSite& trap : plan.traps()) trapped.insert(trap.address);
    for (const Site& site : code.sites) {
      if (trapped.count(site.address) != 0) {
        ASSERT_EQ(code.memory[site.address], 0xcc);
        continue;
      }
      const auto target = target_of(code.memory, site.address);
      ASSERT_TRUE(target.has_value());
      const auto found = targets.find(*target);
      ASSERT_EQ(found != targets.end() ? found->second : *target, stub_of[site.address])
          << std::hex << "site " << site.address << " of " << int{site.bytes} << " bytes, target " << *target;
    }
    // After a site's own bytes nothing changes, except padding that now holds jumps.
    for (const auto& [address, byte] : before) {
      if (code.memory[address] == byte) continue;
      const bool own = std::any_of(code.sites.begin(), code.sites.end(), [at = address](const Site& site) {
        return at - site.address < (site.entered_inside ? 1u : site.bytes);
      });
      const bool padding =
          std::any_of(code.padding.begin(), code.padding.end(),
                      [at = address](const CodeRange& range) { return at - range.begin < range.bytes; });
      ASSERT_TRUE(own || padding);
    }
    overlapping_jumps += plan.report.overlapping_jumps;
    traps += plan.report.traps;
  });
  if (std::getenv("MUSUBI_TEST_SEED") == nullptr) {
    EXPECT_GT(overlapping_jumps, 4 * traps);
  }
}

}  // namespace
}  // namespace musubi::atomics::x86_64
