#include "image/libraries/held_constructors.h"

#include <elf.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdint>

#include "image/libraries/library_choice.h"
#include "image/process/call_as.h"

namespace musubi::image {
namespace {

constexpr std::size_t held_max = 4096;
constexpr std::uintptr_t page = 4096;

struct Held {
  const link_map* object;  // null: free
  std::uintptr_t init;     // the value of DT_INIT, or 0
  std::uintptr_t array_bytes;
};

// Written while the dynamic linker relocates this library, before memory or constructed objects exist.
constinit Held held[held_max]{};
constinit std::size_t held_end = 0;

void do_nothing() {}

std::uint64_t as_word(char** pointer) {
  return reinterpret_cast<std::uint64_t>(pointer);
}

ElfW(Dyn) * find_entry(const link_map& object, ElfW(Sxword) tag) {
  for (ElfW(Dyn)* entry = object.l_ld; entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag == tag) return entry;
  }
  return nullptr;
}

Held* find_held(const link_map* object) {
  for (std::size_t i = 0; i < held_end; ++i) {
    if (held[i].object == object) return &held[i];
  }
  return nullptr;
}

// The dynamic section may be read-only after relocation.
bool make_writable(const link_map& object) {
  const ElfW(Dyn)* end = object.l_ld;
  while (end->d_tag != DT_NULL) ++end;
  const std::uintptr_t begin = reinterpret_cast<std::uintptr_t>(object.l_ld) & ~(page - 1);
  const std::size_t bytes = reinterpret_cast<std::uintptr_t>(end + 1) - begin;
  return ::mprotect(reinterpret_cast<void*>(begin), bytes, PROT_READ | PROT_WRITE) == 0;
}

void run(const link_map& object, const Held& constructors, const ProgramArguments& given) {
  const auto call = [&](std::uintptr_t address) {
    call_from_its_object(
        reinterpret_cast<const void*>(address),
        {static_cast<std::uint64_t>(given.count), as_word(given.strings), as_word(given.environment)});
  };
  if (constructors.init != 0) call(object.l_addr + constructors.init);
  const ElfW(Dyn)* const array = find_entry(object, DT_INIT_ARRAY);
  if (array == nullptr) return;
  const auto* const functions = reinterpret_cast<const std::uintptr_t*>(object.l_addr + array->d_un.d_ptr);
  for (std::size_t i = 0; i < constructors.array_bytes / sizeof *functions; ++i) call(functions[i]);
}

void run_destructors_of(const link_map& object) {
  const auto call = [&](std::uintptr_t address) {
    call_from_its_object(reinterpret_cast<const void*>(address), {});
  };
  const ElfW(Dyn)* const array = find_entry(object, DT_FINI_ARRAY);
  const ElfW(Dyn)* const bytes = find_entry(object, DT_FINI_ARRAYSZ);
  if (array != nullptr && bytes != nullptr) {
    const auto* const functions = reinterpret_cast<const std::uintptr_t*>(object.l_addr + array->d_un.d_ptr);
    for (std::size_t i = bytes->d_un.d_val / sizeof *functions; i > 0; --i) call(functions[i - 1]);
  }
  const ElfW(Dyn)* const last = find_entry(object, DT_FINI);
  if (last != nullptr) call(object.l_addr + last->d_un.d_ptr);
}

// Orders objects after the objects that they need; a circle is entered where it is met.
class Order {
 public:
  explicit Order(const std::vector<link_map*>& objects) : objects_(objects) {
    // As the dynamic linker: the object loaded last comes first, unless dependences order them.
    for (auto object = objects.rbegin(); object != objects.rend(); ++object) visit(*object);
  }
  const std::vector<link_map*>& result() const { return result_; }

 private:
  void visit(link_map* object) {
    if (std::ranges::count(seen_, object) != 0) return;
    seen_.push_back(object);
    for (link_map* needed : needed_by(*object, objects_)) visit(needed);
    result_.push_back(object);
  }

  const std::vector<link_map*>& objects_;
  std::vector<link_map*> seen_, result_;
};

}  // namespace

void hold_constructors(link_map& object) noexcept {
  ElfW(Dyn)* const init = find_entry(object, DT_INIT);
  ElfW(Dyn)* const array_bytes = find_entry(object, DT_INIT_ARRAYSZ);
  if (init == nullptr && array_bytes == nullptr) return;
  Held* place = find_held(nullptr);
  if (place == nullptr && held_end < held_max) place = &held[held_end++];
  if (place == nullptr || !make_writable(object)) return;
  *place = {&object, 0, 0};
  if (init != nullptr) {
    place->init = init->d_un.d_ptr;
    init->d_un.d_ptr = reinterpret_cast<std::uintptr_t>(&do_nothing) - object.l_addr;
  }
  if (array_bytes != nullptr) {
    place->array_bytes = array_bytes->d_un.d_val;
    array_bytes->d_un.d_val = 0;
  }
}

void give_back_constructors(const link_map& object) noexcept {
  Held* const constructors = find_held(&object);
  if (constructors == nullptr || !make_writable(object)) return;
  if (ElfW(Dyn)* const init = find_entry(object, DT_INIT)) init->d_un.d_ptr = constructors->init;
  if (ElfW(Dyn)* const bytes = find_entry(object, DT_INIT_ARRAYSZ)) {
    bytes->d_un.d_val = constructors->array_bytes;
  }
  *constructors = {};
}

void forget_constructors(const link_map* object) noexcept {
  if (Held* const constructors = find_held(object)) *constructors = {};
}

void run_constructors(const std::vector<link_map*>& objects, const ProgramArguments& arguments) {
  const Order order(objects);
  for (const link_map* object : order.result()) {
    Held* const found = find_held(object);
    if (found == nullptr) continue;
    const Held constructors = *found;
    *found = {};
    run(*object, constructors, arguments);
  }
}

void run_destructors(const std::vector<link_map*>& objects) {
  const Order order(objects);
  for (auto object = order.result().rbegin(); object != order.result().rend(); ++object) {
    run_destructors_of(**object);
  }
}

}  // namespace musubi::image
