// A job of one rank: the library was preloaded, or linked, without the launcher. The program runs as anywhere
// else, which distinguishes errors of the runtime from errors of sharing.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "bootstrap/bootstrap.h"

namespace musubi::runtime {

class SoloBootstrap final : public bootstrap::Bootstrap {
 public:
  Rank self() const noexcept override { return Rank{0}; }
  std::uint32_t ranks() const noexcept override { return 1; }
  const bootstrap::Hosts& hosts() const noexcept override { return hosts_; }
  Result<std::vector<std::string>> all_gather(std::string_view blob) override {
    return std::vector<std::string>{std::string(blob)};
  }
  void finish(int) noexcept override {}
  [[noreturn]] void abort(int status, std::string_view reason) noexcept override;

 private:
  const bootstrap::Hosts hosts_ = bootstrap::Hosts::one(1);
};

}  // namespace musubi::runtime
