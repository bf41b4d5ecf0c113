// What scans of libraries and programs have found, kept in files from one job to the next: decoding all code
// at each start costs seconds where libraries are large.
//
// A file of the folder belongs to one object (by its build id; without one by its path, size, time and inode)
// and to one build of Musubi. It is written under another name first, and renamed when it is whole. Nothing
// in it is believed: length, checksum and bounds are looked at, and the code of each site must be what it
// was.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "atomics/site.h"

struct dl_phdr_info;

namespace musubi::atomics {

struct ObjectScan {
  Scan scan;  // of the padding only what lies near sites
  bool has_load_spins = false;
};

// A name for the contents of a loaded object, whose file is at `path`. Empty: it has none.
std::string identity_of(const dl_phdr_info& object, const std::string& path);

class KeptScans {
 public:
  // `folder` need not be there; an empty one, or one that cannot be used, keeps nothing. `build`: of Musubi.
  // Only a folder and files that belong to this user, and that no other can write, are used.
  KeptScans(std::string folder, std::string build, std::size_t bytes_max = std::size_t{64} << 20)
      : folder_(std::move(folder)), build_(std::move(build)), bytes_max_(bytes_max) {}

  // The folder that users' programs keep such things in, by the environment; empty: none.
  static std::string usual_folder();

  // What was kept of the object, whose code lies in `code` now. Nothing when there is no such file, or it
  // does not fit. Any thread.
  std::optional<ObjectScan> find(const std::string& identity, const std::vector<CodeRange>& code) const;
  // Keeps it, if that can be done; older files go when all take more than bytes_max. Any thread; other
  // processes may do the same.
  void keep(const std::string& identity, const std::vector<CodeRange>& code, const ObjectScan& found) const;

 private:
  std::string path_of(const std::string& identity) const;
  void make_room(std::size_t bytes) const;

  std::string folder_, build_;
  std::size_t bytes_max_;
};

}  // namespace musubi::atomics
