// Which libraries share their static data between the ranks: all, except libraries that hold state of a
// process (private_libraries.def) and the libraries that these need.
#pragma once

#include <link.h>

#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "config/settings.h"
#include "image/libraries/object_names.h"

namespace musubi::image {

class LibraryChoice {
 public:
  explicit LibraryChoice(const config::Settings& settings);

  // Whether the name of the library at `path` makes it private.
  bool is_named_private(std::string_view path) const;

  // The library of that path becomes private, as if a setting named it.
  void make_private(std::string_view path);

  // Decides about objects loaded together. The program is shared. An object that a private one needs is
  // private too, so that the private one never finds data of another rank. Allocates; one thread at a time.
  void decide(const std::vector<link_map*>& objects);
  // False for undecided objects, too: those that the C library loads for itself.
  bool is_shared(const link_map& object) const;

 private:
  std::string also_private_;
  std::string also_shared_;
  std::unordered_set<const link_map*> shared_;
};

// The objects that the dynamic linker has loaded, the program first, without the vdso.
std::vector<link_map*> linked_objects();

// The objects that `object` needs, among `objects`.
std::vector<link_map*> needed_by(const link_map& object, const std::vector<link_map*>& objects);

}  // namespace musubi::image
