// A hash table that threads fill, read and rehash: a shared lock for the table, a lock per stripe of buckets.
// Usage: hash_table [threads] [keys of each].
#include <array>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <thread>
#include <vector>

#include "thread_team.h"

namespace {

class Table {
 public:
  // True if the key is new.
  bool add(const std::string& key, long value) {
    {
      const std::shared_lock hold(shape_);
      const std::size_t bucket = std::hash<std::string>()(key) % buckets_.size();
      const std::lock_guard hold_stripe(stripes_[bucket % stripes_.size()]);
      for (auto node = buckets_[bucket].get(); node != nullptr; node = node->next.get()) {
        if (node->key != key) continue;
        node->value += value;
        return false;
      }
      buckets_[bucket] = std::make_unique<Node>(Node{key, value, std::move(buckets_[bucket])});
    }
    grow_if_full();
    return true;
  }

  // 0 when the key is unknown.
  long find(const std::string& key) const {
    const std::shared_lock hold(shape_);
    const std::size_t bucket = std::hash<std::string>()(key) % buckets_.size();
    const std::lock_guard hold_stripe(stripes_[bucket % stripes_.size()]);
    for (auto node = buckets_[bucket].get(); node != nullptr; node = node->next.get()) {
      if (node->key == key) return node->value;
    }
    return 0;
  }

  std::size_t size() const { return size_; }

 private:
  struct Node {
    std::string key;
    long value;
    std::unique_ptr<Node> next;
  };

  void grow_if_full() {
    const std::unique_lock hold(shape_);
    if (++size_ <= buckets_.size()) return;
    std::vector<std::unique_ptr<Node>> larger(2 * buckets_.size());
    for (auto& bucket : buckets_) {
      while (bucket != nullptr) {
        std::unique_ptr<Node> node = std::move(bucket);
        bucket = std::move(node->next);
        auto& to = larger[std::hash<std::string>()(node->key) % larger.size()];
        node->next = std::move(to);
        to = std::move(node);
      }
    }
    buckets_ = std::move(larger);
  }

  mutable std::shared_mutex shape_;
  mutable std::array<std::mutex, 16> stripes_;
  std::vector<std::unique_ptr<Node>> buckets_ = std::vector<std::unique_ptr<Node>>(16);
  std::size_t size_ = 0;
};

Table table;

std::string key_of(int number) {
  return "the key with the number " + std::to_string(number);
}

// Every key comes from two members, which read what is there at once.
void fill(int me, int keys) {
  for (int i = 0; i < keys; ++i) {
    const int number = (me / 2) * keys + i;
    table.add(key_of(number), 1 + me % 2);
    const long value = table.find(key_of(number));
    CHECK(value >= 1 + me % 2 && value <= 3);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = 2 * number_of(argc, argv, 1, 2, team_max),
            keys = number_of(argc, argv, 2, 100, 1 << 20);
  const double start = seconds();
  std::vector<std::thread> members;
  for (int i = 0; i < threads; ++i) members.emplace_back(fill, i, keys);
  for (std::thread& member : members) member.join();
  const double time = seconds() - start;
  const int expected = threads / 2 * keys;
  CHECK(table.size() == static_cast<std::size_t>(expected));
  for (int i = 0; i < expected; ++i) CHECK(table.find(key_of(i)) == 3);
  CHECK(table.find("no key") == 0);
  printf("hash_table: %d keys, %d threads, time %.6f s\n", expected, threads, time);
  return 0;
}
