// Part of musubi.hpp: objects, arrays and containers in shared memory.
//
//     musubi::shared_array<int> counts(1000);        // collective
//     using Names = std::vector<int, musubi::allocator<int>>;
//     musubi::unique_ptr<Names> names;
//     if (musubi::rank() == 0) names = musubi::make_unique<Names>();
//     Names* const shared = musubi::broadcast(names.get());
//     musubi::prefetch(counts.span());
#pragma once

#include <musubi/checks.h>
#include <musubi/cpp/error.hpp>
#include <musubi/memory.h>

#include <cstddef>
#include <exception>
#include <memory>
#include <new>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace musubi {

// Memory for standard containers, from this rank's part of the shared heap. The elements are shared; the
// container object itself is shared only if it is in shared memory. allocate() throws std::bad_alloc when
// this rank's part is full; it does not block. Any rank may deallocate.
template <class T>
struct allocator {
  using value_type = T;

  allocator() noexcept = default;
  template <class U>
  allocator(const allocator<U>&) noexcept {}

  T* allocate(std::size_t count) {
    if (count > static_cast<std::size_t>(-1) / sizeof(T)) throw std::bad_array_new_length();
    void* const memory = alignof(T) <= 16 ? musubi_alloc(count * sizeof(T))
                                          : musubi_alloc_aligned(alignof(T), count * sizeof(T));
    if (memory == nullptr) throw std::bad_alloc();
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, std::size_t) noexcept { musubi_free(memory); }

  template <class U>
  bool operator==(const allocator<U>&) const noexcept {
    return true;
  }
};

// Destroys an object and frees its shared memory; any rank may.
struct shared_delete {
  template <class T>
  void operator()(T* object) const noexcept {
    const void* memory = object;  // the address of a base may differ from that of its object
    if constexpr (std::is_polymorphic_v<T>) memory = dynamic_cast<const void*>(object);
    std::destroy_at(object);
    musubi_free(const_cast<void*>(memory));
  }
};
// One object in shared memory, which this rank owns; get() is valid on every rank. release() hands the
// object over to another rank.
template <class T>
using unique_ptr = std::unique_ptr<T, shared_delete>;

// Makes an object of T in this rank's part of the shared heap. Throws std::bad_alloc, and the exceptions of
// T's constructor. Objects with virtual functions work on all ranks only if these run the same program at
// the same addresses.
template <class T, class... Arguments>
unique_ptr<T> make_unique(Arguments&&... arguments) {
  allocator<T> memory;
  T* const place = memory.allocate(1);
  try {
    return unique_ptr<T>(std::construct_at(place, std::forward<Arguments>(arguments)...));
  } catch (...) {
    memory.deallocate(place, 1);
    throw;
  }
}

// `count` uninitialised elements in shared memory that all ranks own together. Construction and destruction
// are collective, with the same arguments on all ranks, and block. Throws error (MUSUBI_ERROR_ARGUMENT,
// MUSUBI_ERROR_MEMORY, MUSUBI_ERROR_STATE) on all ranks alike. If an exception destroys the array, its
// memory stays allocated until the job ends, because the other ranks do not take part.
template <class T>
class shared_array {
  static_assert(std::is_trivially_default_constructible_v<T> && std::is_trivially_destructible_v<T>,
                "no constructor and no destructor runs for the elements of a shared_array");

 public:
  explicit shared_array(std::size_t count, musubi_attributes attributes = {})
      : count_(count), exceptions_(std::uncaught_exceptions()) {
    if (count > static_cast<std::size_t>(-1) / sizeof(T)) throw error(MUSUBI_ERROR_MEMORY);
    if (attributes.alignment < alignof(T)) attributes.alignment = alignof(T);
    void* memory = nullptr;
    require(musubi_alloc_with(&attributes, count * sizeof(T), &memory));
    elements_ = static_cast<T*>(memory);
  }
  shared_array(shared_array&& other) noexcept
      : elements_(std::exchange(other.elements_, nullptr)),
        count_(std::exchange(other.count_, 0)),
        exceptions_(std::uncaught_exceptions()) {}
  shared_array& operator=(shared_array&& other) noexcept {
    std::swap(elements_, other.elements_);
    std::swap(count_, other.count_);
    return *this;
  }
  ~shared_array() {
    const bool is_unwinding = std::uncaught_exceptions() > exceptions_;
    if (elements_ != nullptr && !is_unwinding) musubi_free_with(elements_);
  }

  T* data() const noexcept { return elements_; }
  std::size_t size() const noexcept { return count_; }
  T& operator[](std::size_t index) const noexcept { return elements_[index]; }
  T* begin() const noexcept { return elements_; }
  T* end() const noexcept { return elements_ + count_; }
  std::span<T> span() const noexcept { return {elements_, count_}; }

 private:
  T* elements_ = nullptr;
  std::size_t count_ = 0;
  int exceptions_;
};

// The part of rank `part` when `parts` ranks divide `all` evenly, in order.
template <class T, std::size_t extent>
std::span<T> part_of(std::span<T, extent> all, int part, int parts) noexcept {
  const std::size_t each = all.size() / static_cast<std::size_t>(parts);
  const std::size_t more = all.size() % static_cast<std::size_t>(parts);
  const auto index = static_cast<std::size_t>(part);
  const std::size_t begin = index * each + (index < more ? index : more);
  return all.subspan(begin, each + (index < more ? 1 : 0));
}

// As musubi_prefetch, musubi_release_range and musubi_touch: the first two are hints, the third prepares
// memory for a system call. A span of constants is prefetched or touched for reading. Block. Throw error
// (MUSUBI_ERROR_ADDRESS, MUSUBI_ERROR_STATE).
template <class T, std::size_t extent>
void prefetch(std::span<T, extent> elements) {
  require(musubi_prefetch(elements.data(), elements.size_bytes(), !std::is_const_v<T>));
}
// As musubi_prefetch_all, for ranges of spans of one kind of element.
template <class T, std::size_t extent>
void prefetch_all(std::span<const std::span<T, extent>> ranges) {
  std::vector<musubi_range> named;
  for (const std::span<T, extent>& range : ranges) named.push_back({range.data(), range.size_bytes()});
  require(musubi_prefetch_all(named.data(), named.size(), !std::is_const_v<T>));
}
// As musubi_set_home, for a part of one shared_array. Throws error.
template <class T, std::size_t extent>
void set_home(std::span<T, extent> elements, int rank) {
  require(musubi_set_home(elements.data(), elements.size_bytes(), rank));
}
// As musubi_check_read and the functions after it: any memory. Block. Throw nothing.
template <class T, std::size_t extent>
void check_read(std::span<T, extent> elements) noexcept {
  musubi_check_read(elements.data(), elements.size_bytes());
}
template <class T, std::size_t extent>
void check_write(std::span<T, extent> elements) noexcept {
  musubi_check_write(elements.data(), elements.size_bytes());
}
template <class T, std::size_t extent>
void check_overwrite(std::span<T, extent> elements) noexcept {
  musubi_check_overwrite(elements.data(), elements.size_bytes());
}
template <class T, std::size_t extent>
void check_written(std::span<T, extent> elements) noexcept {
  musubi_check_written(elements.data(), elements.size_bytes());
}
template <class T, std::size_t extent>
void release_range(std::span<T, extent> elements) {
  require(musubi_release_range(elements.data(), elements.size_bytes()));
}
template <class T, std::size_t extent>
void touch(std::span<T, extent> elements) {
  require(musubi_touch(elements.data(), elements.size_bytes(), !std::is_const_v<T>));
}

}  // namespace musubi
