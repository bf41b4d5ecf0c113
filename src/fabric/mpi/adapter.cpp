#include "fabric/mpi/adapter.h"

#include <dlfcn.h>

#include <array>

namespace musubi::fabric::mpi {

Result<const musubi_mpi_calls*> load_adapter(const std::string& path, Purpose purpose) {
  void* const library =
      ::dlopen(path.c_str(), RTLD_NOW | (purpose == Purpose::start ? RTLD_GLOBAL : RTLD_LOCAL));
  if (library == nullptr) {
    const char* const why = ::dlerror();
    return Error{std::string("cannot load the adapter to MPI: ") + (why == nullptr ? path : why) +
                 "; install that MPI, or name another adapter by mpi_library"};
  }
  using Entry = decltype(&musubi_mpi_adapter);
  const auto entry = reinterpret_cast<Entry>(::dlsym(library, "musubi_mpi_adapter"));
  const musubi_mpi_calls* const calls = entry == nullptr ? nullptr : entry();
  if (calls == nullptr || calls->version != musubi_mpi_version) {
    return Error{path +
                 (calls == nullptr ? " is not an adapter to MPI" : " is of another version of Musubi") +
                 "; compile src/fabric/mpi/adapter.c of this version by the MPI's mpicc"};
  }
  return calls;
}

std::string library_name(const musubi_mpi_calls& calls) {
  std::array<char, 100> text{};
  calls.library(text.data(), static_cast<int>(text.size()));
  return text.data();
}

std::string text_of_error(const musubi_mpi_calls& calls, int error) {
  std::array<char, 300> text{};
  calls.explain(error, text.data(), static_cast<int>(text.size()));
  return text.data();
}

}  // namespace musubi::fabric::mpi
