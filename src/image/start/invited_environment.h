// A process that the launcher has invited and that does not join, as a shell or `env`: what it starts may be
// the program. So the invitation and the preload go on, whatever becomes of the environment there.
#pragma once

#include <string>
#include <vector>

namespace musubi::image {

// In such a process, at its start: remembers what of the environment makes a program join.
void keep_invitation();

// An environment that is given to another program, with what was kept where that is missing. Without anything
// kept it is the one given. Allocates, when something is missing.
class InvitedEnvironment {
 public:
  explicit InvitedEnvironment(char* const* given);
  InvitedEnvironment(const InvitedEnvironment&) = delete;
  InvitedEnvironment& operator=(const InvitedEnvironment&) = delete;

  // As long as this object and what was given live.
  char* const* get() const noexcept { return list_.empty() ? given_ : list_.data(); }

 private:
  char* const* given_;
  std::string preload_;
  std::vector<char*> list_;
};

}  // namespace musubi::image
