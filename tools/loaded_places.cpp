// Loaded on demand: loading libdw takes as long as starting a rank, and hardly any job needs it.
#include <dlfcn.h>

#include <cstdio>

#include "process_places.h"
#include "program_file.h"

namespace musubi::tools {
namespace {

using FindPlaces = decltype(&musubi_find_places);

FindPlaces load() {
  auto path = find_library(places_library);
  void* const library = path ? ::dlopen(path.value().c_str(), RTLD_NOW | RTLD_LOCAL) : nullptr;
  void* const found = library != nullptr ? ::dlsym(library, "musubi_find_places") : nullptr;
  if (found == nullptr) {
    std::fprintf(stderr, "musubi: the report has addresses instead of names: %s\n",
                 path ? ::dlerror() : path.error().message.c_str());
  }
  return reinterpret_cast<FindPlaces>(found);
}

}  // namespace

std::unique_ptr<launch::Places> find_places(pid_t process) {
  static const FindPlaces find = load();
  return std::unique_ptr<launch::Places>(find != nullptr ? find(process) : nullptr);
}

}  // namespace musubi::tools
