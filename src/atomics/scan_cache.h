// Caches the results of scans of libraries and programs in files, from one job to the next: decoding all code
// at each start takes seconds if libraries are large.
//
// A file of the folder belongs to one object (by its build id; without one by its path, size, time and inode)
// and to one build of Musubi. It is written under another name first, and renamed when it is complete. Its
// contents are not trusted: the reader checks length, checksum and bounds, and compares the code of each
// site.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "atomics/site.h"

struct dl_phdr_info;

namespace musubi::atomics {

struct ObjectScan {
  Scan scan;  // of the padding only ranges near sites
  bool has_spin_loops = false;
};

// A name for the contents of a loaded object, whose file is at `path`. Empty: none.
std::string identity_of(const dl_phdr_info& object, const std::string& path);

class ScanCache {
 public:
  // `folder` need not exist; with an empty or unusable folder nothing is kept. `build`: of Musubi. Only a
  // folder and files that belong to this user, and that no other user can write, are used.
  ScanCache(std::string folder, std::string build, std::size_t bytes_max = std::size_t{64} << 20)
      : folder_(std::move(folder)), build_(std::move(build)), bytes_max_(bytes_max) {}

  // The user's cache folder, by the environment; empty: none.
  static std::string usual_folder();

  // The kept scan of the object whose code is at `code` now. Nothing if no file exists or it does not fit.
  // Any thread.
  std::optional<ObjectScan> find(const std::string& identity, const std::vector<CodeRange>& code) const;
  // Writes the scan if possible, and deletes the oldest files when all together exceed bytes_max. Any thread;
  // other processes may do the same.
  void keep(const std::string& identity, const std::vector<CodeRange>& code, const ObjectScan& found) const;

 private:
  std::string path_of(const std::string& identity) const;
  void make_room(std::size_t bytes) const;

  std::string folder_, build_;
  std::size_t bytes_max_;
};

}  // namespace musubi::atomics
