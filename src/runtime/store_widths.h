// How wide the stores of the program are that fault, for Protocol::note_store.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace musubi::runtime {

class StoreWidths {
 public:
  StoreWidths() noexcept;

  // Of the instruction at `code`, which is about to write at `address`: as atomics::store_bytes(), but 0 when
  // that says nothing about what lies there: code of the C library, of ours, or of nobody; a scalar that is
  // not aligned. Signal-safe.
  std::size_t bytes_of(std::uintptr_t code, std::uintptr_t address) noexcept;

 private:
  std::size_t find(std::uintptr_t code) const noexcept;

  // Programs have few instructions that fault: by a few bits of their address, each with its width.
  static constexpr std::size_t places = 1024;
  std::array<std::atomic<std::uint64_t>, places> known_{};
  const void* c_library_;
  const void* self_;
};

}  // namespace musubi::runtime
