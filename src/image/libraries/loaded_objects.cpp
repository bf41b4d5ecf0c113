#include "image/libraries/loaded_objects.h"

#include <algorithm>
#include <cstdio>
#include <initializer_list>
#include <string_view>

#include "config/environment.h"
#include "image/process/real_function.h"

namespace musubi::image {
namespace {

std::string_view file_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

bool starts_with_one_of(std::string_view name, std::initializer_list<std::string_view> beginnings) {
  return std::any_of(beginnings.begin(), beginnings.end(),
                     [name](std::string_view beginning) { return name.starts_with(beginning); });
}

AddressRange range_of(const dl_phdr_info& object) {
  std::uintptr_t begin = ~std::uintptr_t{0}, end = 0;
  for (int i = 0; i < object.dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = object.dlpi_phdr[i];
    if (header.p_type != PT_LOAD) continue;
    begin = std::min<std::uintptr_t>(begin, object.dlpi_addr + header.p_vaddr);
    end = std::max<std::uintptr_t>(end, object.dlpi_addr + header.p_vaddr + header.p_memsz);
  }
  return end > begin ? AddressRange{begin, end - begin} : AddressRange{};
}

int add_object(dl_phdr_info* object, std::size_t, void* result) {
  static_cast<std::vector<LoadedObject>*>(result)->push_back(
      {object->dlpi_name == nullptr ? "" : object->dlpi_name, object->dlpi_addr, range_of(*object)});
  return 0;
}

int take_globals(dl_phdr_info* object, std::size_t, void* result) {
  *static_cast<Globals*>(result) = find_globals(*object);
  return 1;  // the program is the first
}

int add_line(dl_phdr_info* object, std::size_t, void* result) {
  const std::string_view name = file_name(object->dlpi_name == nullptr ? "" : object->dlpi_name);
  if (name.starts_with("linux-vdso") || name.starts_with("linux-gate")) return 0;
  char base[32];
  std::snprintf(base, sizeof base, "%#lx ", static_cast<unsigned long>(object->dlpi_addr));
  auto& text = *static_cast<std::string*>(result);
  text += base;
  text += name.empty() ? "the program" : name;
  text += ' ';
  text += build_id(*object);
  text += '\n';
  return 0;
}

// Libraries that manage their own thread-local variables, including ours.
bool is_of_the_system(std::string_view path) {
  return is_c_library(path) ||
         starts_with_one_of(file_name(path),
                            {"libmusubi", "libgomp.so", "libgomp-", "libomp.so", "libomp-", "libiomp5",
                             "libomptarget.so", "libstdc++.so", "libc++.so", "libc++abi.so", "libgfortran.so",
                             "libm.so", "libasan.so", "libtsan.so", "libubsan.so"});
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

// "0x7ffff7c00000 libc.so.6 1234..." -> address, "libc.so.6 1234..."
std::pair<std::string_view, std::string_view> split_line(std::string_view line) {
  const std::size_t space = line.find(' ');
  return {line.substr(0, space), line.substr(space + 1)};
}

}  // namespace

std::vector<LoadedObject> loaded_objects() {
  std::vector<LoadedObject> result;
  ::dl_iterate_phdr(add_object, &result);
  return result;
}

Globals find_program_globals() {
  Globals result;
  ::dl_iterate_phdr(take_globals, &result);
  return result;
}

bool visit_object(const link_map& object, const std::function<void(const dl_phdr_info&)>& visit) {
  struct Search {
    const link_map& object;
    const std::function<void(const dl_phdr_info&)>& visit;
  } search{object, visit};
  return ::dl_iterate_phdr(
             [](dl_phdr_info* info, std::size_t, void* given) {
               const auto& wanted = *static_cast<Search*>(given);
               const bool is_it = info->dlpi_addr == wanted.object.l_addr &&
                                  std::string_view(info->dlpi_name) == wanted.object.l_name;
               if (is_it) wanted.visit(*info);
               return is_it ? 1 : 0;
             },
             &search) != 0;
}

Globals find_library_globals(const link_map& library) {
  Globals result;
  visit_object(library, [&](const dl_phdr_info& info) { result = find_globals(info); });
  for (runtime::SharedRange& range : result.shared) range.of_library = true;
  return result;
}

Globals find_shared_globals(const LibraryChoice& choice) {
  const std::vector<link_map*> objects = linked_objects();
  // The library itself uses the program's copy of its variable.
  const auto is_private = [&](const char* variable) {
    const auto owner = std::find_if(objects.begin() + 1, objects.end(), [variable](const link_map* object) {
      return exported_address(*object, variable) != nullptr;
    });
    return owner == objects.end() || !choice.is_shared(**owner);
  };
  Globals result;
  visit_object(*objects.front(), [&](const dl_phdr_info& info) { result = find_globals(info, is_private); });
  for (const link_map* object : objects) {
    if (object == objects.front() || !choice.is_shared(*object)) continue;
    const Globals globals = find_library_globals(*object);
    result.shared.insert(result.shared.end(), globals.shared.begin(), globals.shared.end());
    result.private_bytes.insert(result.private_bytes.end(), globals.private_bytes.begin(),
                                globals.private_bytes.end());
  }
  return result;
}

std::string image_fingerprint() {
  std::string result;
  ::dl_iterate_phdr(add_line, &result);
  return result;
}

bool is_c_library(std::string_view path) {
  return starts_with_one_of(file_name(path), {"libc.so", "libc-", "ld-linux", "libpthread"});
}

std::string fingerprint_difference(const std::vector<std::string>& by_rank) {
  for (std::size_t rank = 1; rank < by_rank.size(); ++rank) {
    if (by_rank[rank] == by_rank[0]) continue;
    const auto first = lines_of(by_rank[0]);
    const auto other = lines_of(by_rank[rank]);
    const std::string who = "rank " + std::to_string(rank) + " and rank 0 ";
    for (std::size_t i = 0; i < std::min(first.size(), other.size()); ++i) {
      const auto [first_base, first_what] = split_line(first[i]);
      const auto [other_base, other_what] = split_line(other[i]);
      const std::string name(first_what.substr(0, first_what.rfind(' ')));
      if (first_what != other_what) {
        return who + "run different builds or libraries (" + name + " and " +
               std::string(other_what.substr(0, other_what.rfind(' '))) +
               "): install the same program and libraries on every host";
      }
      if (first_base != other_base) {
        return who + "have " + name + " at different addresses (" + std::string(other_base) + " and " +
               std::string(first_base) +
               "): start the program with `musubi run`, which turns address "
               "randomisation off; inside containers allow the system call personality";
      }
    }
    return who + "have loaded different numbers of libraries: give every rank the same LD_PRELOAD";
  }
  return {};
}

bool program_has_thread_storage() {
  bool found = false;
  ::dl_iterate_phdr(
      [](dl_phdr_info* object, std::size_t, void* result) {
        if (is_of_the_system(object->dlpi_name == nullptr ? "" : object->dlpi_name)) return 0;
        for (int i = 0; i < object->dlpi_phnum; ++i) {
          if (object->dlpi_phdr[i].p_type == PT_TLS) *static_cast<bool*>(result) = true;
        }
        return 0;
      },
      &found);
  return found;
}

bool program_has_code_on_stacks() {
  bool found = false;
  ::dl_iterate_phdr(
      [](dl_phdr_info* object, std::size_t, void* result) {
        for (int i = 0; i < object->dlpi_phnum; ++i) {
          const ElfW(Phdr)& header = object->dlpi_phdr[i];
          if (header.p_type == PT_GNU_STACK && (header.p_flags & PF_X) != 0)
            *static_cast<bool*>(result) = true;
        }
        return 0;
      },
      &found);
  return found;
}

bool program_makes_tasks() {
  bool found = false;
  ::dl_iterate_phdr(
      [](dl_phdr_info* object, std::size_t, void* result) {
        constexpr std::string_view task_calls[] = {
            "GOMP_task",       "GOMP_taskloop",         "GOMP_taskloop_ull",
            "__kmpc_omp_task", "__kmpc_omp_task_parts", "__kmpc_omp_task_with_deps",
            "__kmpc_taskloop", "__kmpc_taskloop_5",
        };
        if (imports_any(*object, task_calls)) *static_cast<bool*>(result) = true;
        return 0;
      },
      &found);
  return found;
}

bool uses_openmp() {
  for (const LoadedObject& object : loaded_objects()) {
    for (const std::string_view runtime : {"libgomp", "libomp", "libiomp5"}) {
      if (is_library(object.name, runtime)) return true;
    }
  }
  const auto preloaded = config::environment_variable("LD_PRELOAD");
  return !preloaded || preloaded->find("libmusubi-omp.so") == std::string::npos;
}

}  // namespace musubi::image
