// Standard input of the launcher, on its way to the proxy of rank 0: no more of it than the rank reads, and
// some.
#pragma once

#include <cstdint>

#include "launch/hosts/channel.h"
#include "launch/watcher.h"

namespace musubi::launch {

class InputFeed {
 public:
  // The file is watched under `subject`.
  InputFeed(Watcher& watcher, std::uint32_t subject) : watcher_(watcher), subject_(subject) {}

  void readable() { readable_ = true; }  // the watcher says so
  // Reads what is there and has room, and sends it. To be called in each turn of the loop: a file on disk is
  // always readable, and a terminal only while this job is in its foreground.
  void read_more(Channel& channel);
  void taken(std::int64_t bytes) { under_way_bytes_ -= bytes; }
  void stop();  // nobody reads it any more

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
