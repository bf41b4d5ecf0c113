// An sshd of the test's own: its keys, its port, its configuration. Uses and changes nothing of the machine's
// own.
#pragma once

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "launched_job.h"

namespace musubi::test {

inline int run_shell(const std::string& command) {
  return std::system(command.c_str());
}

class Sshd {
 public:
  // `prefix` runs it elsewhere, as in "ip netns exec NAME".
  Sshd(const std::string& address, int port, const std::string& prefix = "") {
    folder_ = std::filesystem::temp_directory_path() / ("sshd-test-" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder_);
    const std::string folder = folder_.string();
    run_shell("ssh-keygen -q -t ed25519 -N '' -f " + folder +
              "/host_key && ssh-keygen -q -t ed25519 -N '' -f " + folder + "/user_key && cp " + folder +
              "/user_key.pub " + folder + "/authorized");
    std::ofstream(folder_ / "config") << "Port " << port << "\nListenAddress " << address << "\nHostKey "
                                      << folder << "/host_key\nAuthorizedKeysFile " << folder
                                      << "/authorized\nStrictModes no\nUsePAM no\nPidFile none\n"
                                         "PermitRootLogin yes\nPasswordAuthentication no\nMaxStartups 100\n";
    if (::geteuid() == 0) ::mkdir("/run/sshd", 0755);  // sshd needs it and does not create it
    const std::string line =
        "exec " + prefix + " /usr/sbin/sshd -D -e -f " + folder + "/config 2>" + folder + "/log";
    process_ = ::fork();
    if (process_ == 0) {
      ::setpgid(0, 0);
      ::execl("/bin/sh", "sh", "-c", line.c_str(), nullptr);
      ::_exit(127);
    }
    rsh_ = "ssh -p " + std::to_string(port) + " -i " + folder +
           "/user_key -o IdentitiesOnly=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=" + folder +
           "/known -o LogLevel=ERROR";
    ready_ = eventually([&] { return log().find("Server listening") != std::string::npos; });
  }
  ~Sshd() {
    // A connection whose link was lost would wait until TCP gives up.
    run_shell("pkill -KILL -P " + std::to_string(process_));
    ::kill(process_, SIGTERM);
    ::waitpid(process_, nullptr, 0);
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  Sshd(const Sshd&) = delete;

  // The reason why sshd cannot run here; empty: it can.
  static std::string missing() {
    if (::access("/usr/sbin/sshd", X_OK) != 0) return "there is no /usr/sbin/sshd";
    if (run_shell("command -v ssh ssh-keygen >/dev/null") != 0) return "there is no ssh, or no ssh-keygen";
    return "";
  }

  bool ready() const { return ready_; }
  const std::string& rsh() const { return rsh_; }
  std::string log() const {
    std::ifstream file(folder_ / "log");
    return {std::istreambuf_iterator<char>(file), {}};
  }

 private:
  std::filesystem::path folder_;
  pid_t process_ = -1;
  std::string rsh_;
  bool ready_ = false;
};

}  // namespace musubi::test
