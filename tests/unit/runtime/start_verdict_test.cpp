// A rank finds different settings, but rank 0, which reports for all, does not: their messages were damaged
// on the way.
#include <gtest/gtest.h>
#include <unistd.h>

#include "bootstrap/bootstrap.h"
#include "runtime/api/runtime.h"
#include "runtime/join_job.h"
#include "runtime/start/compare_settings.h"

namespace musubi::runtime {
namespace {

// Rank 1 of two. Rank 0 sees no error, and never ends the job.
class Lonely final : public bootstrap::Bootstrap {
 public:
  Rank self() const noexcept override { return Rank{1}; }
  std::uint32_t ranks() const noexcept override { return 2; }
  const bootstrap::Hosts& hosts() const noexcept override { return hosts_; }
  Result<std::vector<std::string>> all_gather(std::string_view blob) override {
    config::Settings others;
    others.release_window += 1;
    others.heap_block_bytes *= 2;
    return std::vector<std::string>{collective_settings(others) + std::string(1, blob.back()),
                                    std::string(blob)};
  }
  void finish(int) noexcept override {}
  [[noreturn]] void abort(int status, std::string_view reason) noexcept override {
    (void)!::write(STDERR_FILENO, reason.data(), reason.size());
    ::_exit(status);
  }

 private:
  const bootstrap::Hosts hosts_ = bootstrap::Hosts::one(2);
};

TEST(StartVerdict, OfAnotherRankIsNotAwaitedForEver) {
  config::Settings settings;
  settings.start_timeout = std::chrono::seconds(1);
  EXPECT_EXIT((void)start_runtime(settings, std::make_unique<Lonely>(), {}), testing::ExitedWithCode(125),
              "heap_block_bytes");
}

}  // namespace
}  // namespace musubi::runtime
