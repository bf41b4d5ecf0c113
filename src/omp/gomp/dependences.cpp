#include "omp/gomp/dependences.h"

namespace musubi::omp::gomp {
namespace {

// Kinds in depend objects (gomp-constants.h of gcc 13).
constexpr std::uintptr_t object_in = 1, object_inoutset = 5;

std::size_t count_at(void* const* list, std::size_t index) {
  return reinterpret_cast<std::uintptr_t>(list[index]);
}

}  // namespace

Dependences::Dependences(void* const* list) {
  const bool is_old = list[0] != nullptr;
  const std::size_t count = count_at(list, is_old ? 0 : 1);
  const std::size_t outs = is_old ? count_at(list, 1) : count_at(list, 2) + count_at(list, 3);
  const std::size_t plain = is_old ? count : outs + count_at(list, 4);
  void* const* const addresses = list + (is_old ? 2 : 5);
  dependences_.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    if (i < plain) {
      add(addresses[i], i < outs ? DependenceKind::out : DependenceKind::in);
    } else {
      add_object(addresses[i]);
    }
  }
}

void Dependences::add(const void* address, DependenceKind kind) {
  dependences_.push_back({reinterpret_cast<std::uintptr_t>(address), kind});
}

void Dependences::add_object(const void* object) {
  const auto* const words = static_cast<const std::uintptr_t*>(object);
  const DependenceKind kind = words[1] == object_in         ? DependenceKind::in
                              : words[1] == object_inoutset ? DependenceKind::inoutset
                                                            : DependenceKind::out;
  dependences_.push_back({words[0], kind});
}

}  // namespace musubi::omp::gomp
