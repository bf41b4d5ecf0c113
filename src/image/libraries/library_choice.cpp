#include "image/libraries/library_choice.h"

#include <algorithm>

namespace musubi::image {
namespace {

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
  std::string_view name = file_name_of(object.l_name);
  for_each_entry(object, DT_SONAME, [&](std::uintptr_t value) { name = strings_of(object) + value; });
  return name;
}

}  // namespace

std::vector<link_map*> linked_objects() {
  std::vector<link_map*> result;
  for (link_map* object = _r_debug.r_map; object != nullptr; object = object->l_next) {
    const std::string_view name = file_name_of(object->l_name);
    if (!name.starts_with("linux-vdso") && !name.starts_with("linux-gate")) result.push_back(object);
  }
  return result;
}

std::vector<link_map*> needed_by(const link_map& object, const std::vector<link_map*>& objects) {
  std::vector<link_map*> result;
  const char* const strings = strings_of(object);
  for_each_entry(object, DT_NEEDED, [&](std::uintptr_t value) {
    const std::string_view wanted = file_name_of(strings + value);
    const auto found = std::ranges::find_if(objects, [&](const link_map* other) {
      return own_name(*other) == wanted || file_name_of(other->l_name) == wanted;
    });
    if (found != objects.end()) result.push_back(*found);
  });
  return result;
}

LibraryChoice::LibraryChoice(const config::Settings& settings)
    : also_private_(settings.private_libraries), also_shared_(settings.shared_libraries) {
  // TBB's tasks take objects of its allocator along to threads of other ranks.
  if (settings.pthreads) also_shared_ += also_shared_.empty() ? "libtbbmalloc" : ":libtbbmalloc";
}

bool LibraryChoice::is_named_private(std::string_view path) const {
  return image::is_named_private(path, also_private_, also_shared_);
}

void LibraryChoice::make_private(std::string_view path) {
  also_private_ += ':';
  also_private_ += file_name_of(path);
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
