// Scans cached in files are reused, and damaged or foreign files are rejected.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "atomics/scan_cache.h"

namespace musubi::atomics {
namespace {

namespace fs = std::filesystem;

class AtomicsScanCache : public testing::Test {
 protected:
  AtomicsScanCache() : code_(256, 0x90), moved_(256, 0x90) {
    const std::uint8_t site[] = {0xf0, 0x48, 0x0f, 0xb1, 0x11};  // lock cmpxchg %rdx, (%rcx)
    const std::uint8_t padding[] = {0x66, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0};
    std::copy(std::begin(site), std::end(site), code_.begin() + 20);
    std::copy(std::begin(padding), std::end(padding), code_.begin() + 39);
    moved_ = code_;
    char name[] = "/tmp/scan_cache_XXXXXX";
    root_ = ::mkdtemp(name);
    kept_ = {root_ + "/cache/musubi", "build"};
    object_.scan = find_sites(ranges(code_));
    object_.has_spin_loops = true;
  }
  ~AtomicsScanCache() override { fs::remove_all(root_); }

  static std::vector<CodeRange> ranges(const std::vector<std::uint8_t>& code) {
    return {{reinterpret_cast<std::uintptr_t>(code.data()), code.size()}};
  }
  void keep(const std::string& identity = "object") { kept_.keep(identity, ranges(code_), object_); }
  bool is_found(const std::string& identity = "object") {
    return kept_.find(identity, ranges(code_)).has_value();
  }
  std::vector<fs::path> files() {
    std::vector<fs::path> result;
    if (!fs::exists(root_ + "/cache/musubi")) return result;
    for (const auto& entry : fs::directory_iterator(root_ + "/cache/musubi")) result.push_back(entry.path());
    return result;
  }

  std::vector<std::uint8_t> code_, moved_;
  std::string root_;
  ScanCache kept_{"", ""};
  ObjectScan object_;
};

TEST_F(AtomicsScanCache, FindsAtAnotherAddressWhatWasKept) {
  ASSERT_EQ(object_.scan.sites.size(), 1u);
  ASSERT_FALSE(is_found());
  ::mkdir((root_ + "/cache").c_str(), 0700);
  keep();
  const auto found = kept_.find("object", ranges(moved_));
  ASSERT_TRUE(found);
  ASSERT_EQ(found->scan.sites.size(), 1u);
  EXPECT_EQ(found->scan.sites[0].address, reinterpret_cast<std::uintptr_t>(moved_.data()) + 20);
  EXPECT_EQ(found->scan.sites[0].bytes, 5u);
  EXPECT_EQ(found->scan.sites[0].order, object_.scan.sites[0].order);
  EXPECT_EQ(found->scan.sites[0].code, object_.scan.sites[0].code);
  EXPECT_EQ(found->scan.padding.size(), object_.scan.padding.size());
  EXPECT_EQ(found->scan.instructions, object_.scan.instructions);
  EXPECT_TRUE(found->has_spin_loops);
}

TEST_F(AtomicsScanCache, BelongToOneObjectOneBuildAndOneCode) {
  keep();
  ASSERT_TRUE(is_found());
  EXPECT_FALSE(is_found("another"));
  EXPECT_FALSE(is_found(""));
  EXPECT_FALSE(ScanCache(root_ + "/cache/musubi", "another build").find("object", ranges(code_)));
  moved_[21] = 0x90;
  EXPECT_FALSE(kept_.find("object", ranges(moved_)));
  moved_ = code_;
  moved_[40] = 0x90;  // a byte of the padding
  EXPECT_FALSE(kept_.find("object", ranges(moved_)));
  moved_ = code_;
  moved_.pop_back();
  EXPECT_FALSE(kept_.find("object", ranges(moved_)));
}

TEST_F(AtomicsScanCache, AreNotBelievedWhenDamaged) {
  keep();
  ASSERT_EQ(files().size(), 1u);
  const fs::path path = files()[0];
  std::ifstream in(path, std::ios::binary);
  const std::string whole((std::istreambuf_iterator<char>(in)), {});
  const auto write = [&](const std::string& content) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << content;
  };
  for (std::size_t bytes = 0; bytes < whole.size(); ++bytes) {
    write(whole.substr(0, bytes));
    ASSERT_FALSE(is_found()) << bytes;
  }
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x20);
    write(damaged);
    ASSERT_FALSE(is_found()) << at;
  }
  write(whole + "x");
  EXPECT_FALSE(is_found());
  write(whole);
  EXPECT_TRUE(is_found());
}

TEST_F(AtomicsScanCache, AreNotReadWhereOthersMayWrite) {
  keep();
  const fs::path path = files()[0];
  fs::permissions(path, fs::perms::others_write, fs::perm_options::add);
  EXPECT_FALSE(is_found());
  fs::permissions(path, fs::perms::others_write, fs::perm_options::remove);
  ASSERT_TRUE(is_found());
  fs::permissions(path.parent_path(), fs::perms::group_write, fs::perm_options::add);
  EXPECT_FALSE(is_found());
  keep("another");
  EXPECT_EQ(files().size(), 1u);
}

TEST_F(AtomicsScanCache, OldFilesMakeRoom) {
  keep("first");
  const auto one = fs::file_size(files()[0]);
  fs::last_write_time(files()[0], fs::file_time_type::clock::now() - std::chrono::hours(1));
  const ScanCache small(root_ + "/cache/musubi", "build", 3 * one + one / 2);
  for (const char* const name : {"second", "third", "fourth", "fifth"}) {
    small.keep(name, ranges(code_), object_);
  }
  EXPECT_EQ(files().size(), 3u);
  EXPECT_TRUE(is_found("fifth"));
  EXPECT_FALSE(is_found("first"));
}

TEST_F(AtomicsScanCache, NothingIsKeptWithoutAFolder) {
  const ScanCache none("", "build"), nowhere("/proc/no/such", "build");
  none.keep("object", ranges(code_), object_);
  nowhere.keep("object", ranges(code_), object_);
  EXPECT_FALSE(none.find("object", ranges(code_)));
  EXPECT_FALSE(nowhere.find("object", ranges(code_)));
}

}  // namespace
}  // namespace musubi::atomics
