// The shadow memory: the value that every byte must have. A program without races reads the last write before
// it in virtual time, because all conflicting accesses are ordered by happens-before; vector clocks (one per
// thread, epochs per byte as in FastTrack, Flanagan and Freund 2009) prove that the program really is such a
// program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace musubi::sim {

class Shadow {
 public:
  // A vector clock that travels with a lock, a barrier or a hand-over.
  using Baton = std::vector<std::uint32_t>;

  Shadow(std::size_t bytes, std::uint32_t actors);
  Baton baton() const { return Baton(actors_, 0); }

  // Edges: give() before a release begins, take() after the acquire has ended.
  void give(std::uint32_t actor, Baton& baton);
  void take(std::uint32_t actor, const Baton& baton);

  // REQUIRES (checked): every write to these bytes before is ordered before the actor's present.
  void write(std::uint32_t actor, std::size_t offset, std::span<const std::byte> bytes);
  // Result: whether the bytes are those that the actor must see.
  bool read(std::uint32_t actor, std::size_t offset, std::span<const std::byte> bytes) const;

  // Atomic operations on these bytes are ordered by themselves, not by the actors' clocks.
  bool equals(std::size_t offset, std::span<const std::byte> bytes) const;
  void write_atomically(std::uint32_t actor, std::size_t offset, std::span<const std::byte> bytes);

  // Before the run: the initial bytes.
  void set_initial(std::size_t offset, std::span<const std::byte> bytes);
  const std::byte* bytes(std::size_t offset) const { return values_.data() + offset; }

 private:
  struct Epoch {
    std::uint32_t actor;
    std::uint32_t time;  // 0: from the start
  };
  std::uint32_t& time(std::uint32_t of, std::uint32_t actor) {
    return clocks_[std::size_t{of} * actors_ + actor];
  }
  void check_ordered(std::uint32_t actor, std::size_t offset, std::size_t count) const;

  std::uint32_t actors_;
  std::vector<std::uint32_t> clocks_;
  std::vector<std::byte> values_;
  std::vector<Epoch> epochs_;
};

}  // namespace musubi::sim
