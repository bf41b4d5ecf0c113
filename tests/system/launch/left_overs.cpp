#include "left_overs.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

namespace musubi::test {
namespace {

namespace fs = std::filesystem;

constexpr const char* memory_file = "/memfd:musubi";

std::string link_of(const fs::path& path) {
  char name[512];
  const ssize_t length = ::readlink(path.c_str(), name, sizeof name);
  return length > 0 ? std::string(name, static_cast<std::size_t>(length)) : "";
}

// The objects of a process, by the names that `LeftOvers` gives them; and files with Musubi's name.
void add_things(pid_t process, std::set<std::string>& things, std::set<std::string>& files) {
  const fs::path folder = "/proc/" + std::to_string(process);
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder / "fd", ignored)) {
    const std::string name = link_of(entry.path());
    struct stat status;
    if (name.starts_with(memory_file) && ::stat(entry.path().c_str(), &status) == 0) {
      things.insert("memfd " + std::to_string(status.st_ino));
    } else if (name.starts_with("socket:")) {
      things.insert(name);
    } else if (name.find("musubi") != std::string::npos &&
               (name.starts_with("/tmp/") || name.starts_with("/dev/shm/"))) {
      files.insert(name);
    }
  }
  std::ifstream maps(folder / "maps");
  for (std::string line; std::getline(maps, line);) {
    unsigned long inode = 0;
    if (line.find(memory_file) != std::string::npos &&
        std::sscanf(line.c_str(), "%*s %*s %*s %*s %lu", &inode) == 1) {
      things.insert("memfd " + std::to_string(inode));
    }
  }
}

std::set<std::string> files_with_our_name() {
  std::set<std::string> found;
  std::error_code ignored;
  for (const char* folder : {"/dev/shm", "/tmp"}) {
    for (const auto& entry : fs::directory_iterator(folder, ignored)) {
      if (entry.path().filename().string().find("musubi") != std::string::npos) found.insert(entry.path());
    }
  }
  return found;
}

// The noted objects that a process of this machine still has.
std::string still_held(const std::set<std::string>& noted) {
  std::string text;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator("/proc", ignored)) {
    const pid_t process = std::atoi(entry.path().filename().c_str());
    if (process <= 0) continue;
    std::set<std::string> things, files;
    add_things(process, things, files);
    for (const std::string& thing : things) {
      if (noted.count(thing) != 0) text += "process " + std::to_string(process) + " has " + thing + "\n";
    }
  }
  return text;
}

}  // namespace

void LeftOvers::look_at(const LaunchedJob& job) {
  for (const pid_t process : job.processes()) add_things(process, things_, files_);
  // Objects that the caller has as well were inherited from it, or from where it was started.
  std::set<std::string> own, ignored;
  add_things(::getpid(), own, ignored);
  for (const std::string& thing : own) things_.erase(thing);
}

std::string LeftOvers::of(const LaunchedJob& job) const {
  std::string text;
  if (!job.vanished()) {
    for (const pid_t process : job.processes()) text += "process " + std::to_string(process) + " lives\n";
  }
  eventually([&] { return still_held(things_).empty(); }, 5);
  text += still_held(things_);
  const std::set<std::string> files = files_with_our_name();
  for (const std::string& file : files_) {
    if (files.count(file) != 0) text += file + " exists\n";
  }
  return text;
}

}  // namespace musubi::test
