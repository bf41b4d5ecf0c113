// Whether the reads and writes of one word may have happened in some order, each access at one moment between
// its begin and its end. Every write has a distinct value, so this is decided quickly (Gibbons and Korach,
// Testing Shared Memories, 1997).
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

namespace musubi::property {

class WordHistory {
 public:
  // Moments count up. The word was `value` before moment 0.
  explicit WordHistory(std::uint64_t value) { write(value, 0, 0); }

  void write(std::uint64_t value, std::uint64_t begin, std::uint64_t end) {
    Zone& zone = zones_[value];
    zone.written = true;
    zone.write_begin = begin;
    zone.add(begin, end);
  }
  void read(std::uint64_t value, std::uint64_t begin, std::uint64_t end) {
    Zone& zone = zones_[value];
    zone.first_read_end = std::min(zone.first_read_end, end);
    zone.add(begin, end);
  }

  bool is_linearizable() const {
    std::vector<Zone> forward, backward;
    for (const auto& [value, zone] : zones_) {
      if (!zone.written || zone.first_read_end < zone.write_begin) return false;
      (zone.first_end < zone.last_begin ? forward : backward).push_back(zone);
    }
    std::ranges::sort(forward, {}, &Zone::first_end);
    for (std::size_t i = 0; i + 1 < forward.size(); ++i) {
      if (forward[i + 1].first_end < forward[i].last_begin) return false;
    }
    return std::ranges::none_of(backward, [&forward](const Zone& inner) {
      return std::ranges::any_of(forward, [&inner](const Zone& outer) {
        return outer.first_end < inner.last_begin && inner.first_end < outer.last_begin;
      });
    });
  }

 private:
  // All accesses with one value: the word had it from first_end to last_begin, or for a moment between the
  // two.
  struct Zone {
    void add(std::uint64_t begin, std::uint64_t end) {
      first_end = std::min(first_end, end);
      last_begin = std::max(last_begin, begin);
    }
    bool written = false;
    std::uint64_t write_begin = 0;
    std::uint64_t first_read_end = ~std::uint64_t{0};
    std::uint64_t first_end = ~std::uint64_t{0};
    std::uint64_t last_begin = 0;
  };
  std::map<std::uint64_t, Zone> zones_;
};

}  // namespace musubi::property
