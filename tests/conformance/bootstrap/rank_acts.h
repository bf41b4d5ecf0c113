// The actions of the suite's ranks, for all drivers. An act checks its observations and ends the job with 0,
// or with the status of the error.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bootstrap/bootstrap.h"

namespace musubi::bootstrap {

struct RankSurroundings {
  Bootstrap& job;
  std::vector<std::string> arguments;           // the act's name is the first
  std::function<void()> die;                    // silently; does not return
  std::function<void(std::string_view)> print;  // to the rank's output; pieces of lines as well
};

// Statuses of acts that found an error, and of an unknown act.
enum Wrong : int { wrong_place = 81, wrong_hosts, wrong_blobs, wrong_error, wrong_end, wrong_secret, no_act };

void act(const RankSurroundings& rank);

}  // namespace musubi::bootstrap
