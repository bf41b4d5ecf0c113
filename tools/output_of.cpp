#include "output_of.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "os/memory.h"

namespace musubi::tools {

std::string output_of(const std::vector<std::string>& words, const std::vector<std::string>& environment,
                      bool with_errors) {
  const auto pointers = [](const std::vector<std::string>& texts) {
    std::vector<char*> result;
    for (const std::string& text : texts) result.push_back(const_cast<char*>(text.c_str()));
    result.push_back(nullptr);
    return result;
  };
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return "";
  const os::FileDescriptor read_end(ends[0]);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  if (with_errors)
    ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
  else
    ::posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t process = -1;
  const int failure = ::posix_spawn(&process, words[0].c_str(), &actions, nullptr, pointers(words).data(),
                                    pointers(environment).data());
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  if (failure != 0) return "";
  std::string text;
  char bytes[4096];
  ssize_t count = 0;
  while ((count = ::read(read_end.number(), bytes, sizeof bytes)) != 0) {
    if (count < 0 && errno != EINTR) break;
    if (count > 0) text.append(bytes, static_cast<std::size_t>(count));
  }
  int status = 0;
  while (::waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  return status == 0 ? text : "";
}

}  // namespace musubi::tools
