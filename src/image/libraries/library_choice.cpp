#include "image/libraries/library_choice.h"

#include <algorithm>

namespace musubi::image {
namespace {

constexpr std::string_view private_names[] = {
#define MUSUBI_PRIVATE_LIBRARY(name, reason) name,
#include "image/libraries/private_libraries.def"
#undef MUSUBI_PRIVATE_LIBRARY
};

std::string_view file_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

// Calls `visit` with the value of each entry of that tag in the dynamic section.
template <class Visit>
void for_each_entry(const link_map& object, ElfW(Sxword) tag, Visit&& visit) {
  if (object.l_ld == nullptr) return;
  for (const ElfW(Dyn)* entry = object.l_ld; entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag == tag) visit(entry->d_un.d_val);
  }
}

const char* strings_of(const link_map& object) {
  std::uintptr_t address = 0;
  for_each_entry(object, DT_STRTAB, [&](std::uintptr_t value) { address = value; });
  // glibc relocates the entry in place.
  return reinterpret_cast<const char*>(address < object.l_addr ? address + object.l_addr : address);
}

std::string_view own_name(const link_map& object) {
  std::string_view name = file_name(object.l_name);
  for_each_entry(object, DT_SONAME, [&](std::uintptr_t value) { name = strings_of(object) + value; });
  return name;
}

bool is_one_of(std::string_view path, std::string_view names) {
  while (!names.empty()) {
    const std::size_t end = std::min(names.find(':'), names.size());
    if (end != 0 && is_library(path, names.substr(0, end))) return true;
    names.remove_prefix(std::min(end + 1, names.size()));
  }
  return false;
}

}  // namespace

bool is_library(std::string_view path, std::string_view name) {
  std::string_view file = file_name(path);
  if (!name.empty() && name.back() == '*') return file.starts_with(name.substr(0, name.size() - 1));
  if (file == name) return true;
  if (!file.starts_with(name)) return false;
  file.remove_prefix(name.size());
  if (file.starts_with('-')) {
    const std::size_t end = file.find_first_not_of("0123456789abcdef.", 1);
    // The name ends at the dot of ".so".
    if (end == std::string_view::npos || end < 3 || file[end - 1] != '.') return false;
    file.remove_prefix(end - 1);
  }
  return file.starts_with(".so");
}

std::vector<link_map*> linked_objects() {
  std::vector<link_map*> result;
  for (link_map* object = _r_debug.r_map; object != nullptr; object = object->l_next) {
    const std::string_view name = file_name(object->l_name);
    if (!name.starts_with("linux-vdso") && !name.starts_with("linux-gate")) result.push_back(object);
  }
  return result;
}

std::vector<link_map*> needed_by(const link_map& object, const std::vector<link_map*>& objects) {
  std::vector<link_map*> result;
  const char* const strings = strings_of(object);
  for_each_entry(object, DT_NEEDED, [&](std::uintptr_t value) {
    const std::string_view wanted = file_name(strings + value);
    const auto found = std::ranges::find_if(objects, [&](const link_map* other) {
      return own_name(*other) == wanted || file_name(other->l_name) == wanted;
    });
    if (found != objects.end()) result.push_back(*found);
  });
  return result;
}

LibraryChoice::LibraryChoice(const config::Settings& settings)
    : also_private_(settings.private_libraries), also_shared_(settings.shared_libraries) {}

bool LibraryChoice::is_named_private(std::string_view path) const {
  if (is_one_of(path, also_private_)) return true;
  if (is_one_of(path, also_shared_)) return false;
  return std::ranges::any_of(private_names, [path](std::string_view name) { return is_library(path, name); });
}

void LibraryChoice::make_private(std::string_view path) {
  also_private_ += ':';
  also_private_ += file_name(path);
}

bool LibraryChoice::is_shared(const link_map& object) const {
  return shared_.contains(&object);
}

void LibraryChoice::decide(const std::vector<link_map*>& objects) {
  std::vector<link_map*> kept;
  for (link_map* object : objects) {
    const bool is_program = object == _r_debug.r_map;
    if (!is_program && is_named_private(object->l_name)) kept.push_back(object);
  }
  for (std::size_t i = 0; i < kept.size(); ++i) {
    for (link_map* needed : needed_by(*kept[i], objects)) {
      if (!std::ranges::count(kept, needed) && !is_one_of(needed->l_name, also_shared_))
        kept.push_back(needed);
    }
  }
  for (link_map* object : objects) {
    if (std::ranges::count(kept, object) == 0) shared_.insert(object);
  }
}

}  // namespace musubi::image
