// Standard input of the launcher, on its way to the proxy of rank 0; read ahead by a bounded amount.
#pragma once

#include <cstdint>

#include "launch/hosts/wire/channel.h"
#include "launch/watcher.h"

namespace musubi::launch {

class InputFeed {
 public:
  // The file is watched under `subject`.
  InputFeed(Watcher& watcher, std::uint32_t subject) : watcher_(watcher), subject_(subject) {}

  void readable() { readable_ = true; }  // reported by the watcher
  // Reads and sends available input, within the window. Call it in each iteration of the loop: a file on disk
  // is always readable, and a terminal only while this job is in its foreground.
  void read_more(Channel& channel);
  void taken(std::int64_t bytes) { under_way_bytes_ -= bytes; }
  void stop();  // the rank has closed its input

 private:
  void set_watched(bool watched);
  static bool in_background();

  Watcher& watcher_;
  const std::uint32_t subject_;
  std::int64_t under_way_bytes_ = 0;
  bool watched_ = false;
  bool watchable_ = true;
  bool readable_ = false;
  bool ended_ = false;
};

}  // namespace musubi::launch
