// The shapes of jobs in which every construct is tested.
#pragma once

#include <gtest/gtest.h>

#include "standin_runtime.h"

namespace musubi::testing {

struct Shape {
  std::uint32_t ranks;
  std::uint32_t threads;
  bool far = false;
};

class Constructs : public ::testing::TestWithParam<Shape> {
 protected:
  static int run(const std::function<void()>& body,
                 std::vector<std::pair<std::string, std::string>> environment = {}) {
    return run_job({GetParam().ranks, GetParam().threads, std::move(environment), GetParam().far}, body);
  }
  static int team() { return static_cast<int>(GetParam().ranks * GetParam().threads); }
};

inline const auto all_shapes =
    ::testing::Values(Shape{1, 1}, Shape{1, 2}, Shape{1, 4}, Shape{2, 1}, Shape{2, 2}, Shape{4, 1},
                      Shape{3, 2}, Shape{2, 1, true}, Shape{3, 2, true});

inline std::string shape_name(const ::testing::TestParamInfo<Shape>& job) {
  return std::to_string(job.param.ranks) + "x" + std::to_string(job.param.threads) +
         (job.param.far ? "far" : "");
}

}  // namespace musubi::testing
