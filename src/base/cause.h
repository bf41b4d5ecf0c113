// The cause of a failed system call and its remedy, for messages to the user.
#pragma once

#include <cerrno>
#include <cstring>
#include <string>

namespace musubi {

// The system's text for `error` (errno), and a remedy if the error has a specific one: "Too many open files;
// raise `ulimit -n`".
inline std::string cause_of(int error) {
  const char* remedy = "";
  switch (error) {
    case EMFILE:
      remedy = "; raise `ulimit -n`";
      break;
    case ENFILE:
      remedy = "; raise the system's limit of open files (sysctl fs.file-max)";
      break;
    case EAGAIN:
      remedy = "; raise `ulimit -u`, or start fewer processes";
      break;
    case ENOMEM:
    case ENOBUFS:
      remedy = "; free some memory";
      break;
    case ENOSPC:
    case EDQUOT:
      remedy = "; make room there";
      break;
    case EFBIG:
      remedy = "; raise `ulimit -f`";
      break;
    case EPERM:
    case EACCES:
    case ENOSYS:
    case EAFNOSUPPORT:
      remedy = "; a sandbox or a security policy has to allow it";
      break;
    default:
      break;
  }
  return std::strerror(error) + std::string(remedy);
}

}  // namespace musubi
