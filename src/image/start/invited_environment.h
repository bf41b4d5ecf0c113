// For a process that the launcher invites but that does not join, such as a shell or `env`: a program that it
// starts may join. The invitation and the preload reach that program however the process changes its
// environment.
#pragma once

#include <string>
#include <vector>

namespace musubi::image {

// In such a process, at its start: keeps the variables that make a program join.
void keep_invitation();

// An environment for another program, with the kept variables added where they are missing; without any it is
// the given one. Allocates if variables are missing.
class InvitedEnvironment {
 public:
  explicit InvitedEnvironment(char* const* given);
  InvitedEnvironment(const InvitedEnvironment&) = delete;
  InvitedEnvironment& operator=(const InvitedEnvironment&) = delete;

  // Valid as long as this object and the given environment.
  char* const* get() const noexcept { return list_.empty() ? given_ : list_.data(); }

 private:
  char* const* given_;
  std::string preload_;
  std::vector<char*> list_;
};

}  // namespace musubi::image
