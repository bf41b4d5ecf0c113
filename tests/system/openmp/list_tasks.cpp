// Lists and trees of the C++ library, walked by one thread that makes a task for each element; the tasks
// change their elements, build strings, and add to maps under a lock.
#include <list>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "check.h"

namespace {

struct Order {
  std::string customer;
  std::vector<int> prices;
  long sum = 0;
};

std::list<Order> make_orders(int count) {
  std::list<Order> orders;
  for (int i = 0; i < count; ++i) {
    std::vector<int> prices(static_cast<std::size_t>(i % 17 + 1));
    std::iota(prices.begin(), prices.end(), i);
    orders.push_back({"customer number " + std::to_string(i % 10), prices});
  }
  return orders;
}

std::map<std::string, long> sum_up(std::list<Order>& orders) {
  std::map<std::string, long> sums;
#pragma omp parallel
#pragma omp single
  for (auto order = orders.begin(); order != orders.end(); ++order) {
#pragma omp task firstprivate(order) shared(sums)
    {
      order->sum = std::accumulate(order->prices.begin(), order->prices.end(), 0L);
      order->customer += " paid";
#pragma omp critical(sums)
      sums[order->customer] += order->sum;
    }
  }
  return sums;
}

struct Node {
  long value = 0, below = 0;
  std::unique_ptr<Node> left, right;
};

std::unique_ptr<Node> build(int levels, long number) {
  auto node = std::make_unique<Node>();
  node->value = number;
  if (levels == 0) return node;
#pragma omp task shared(node) firstprivate(levels, number) if (levels > 2)
  node->left = build(levels - 1, 2 * number);
#pragma omp task shared(node) firstprivate(levels, number) if (levels > 2)
  node->right = build(levels - 1, 2 * number + 1);
#pragma omp taskwait
  return node;
}

void count_below(Node& node) {
  if (node.left == nullptr) return;
#pragma omp taskgroup
  {
#pragma omp task shared(node)
    count_below(*node.left);
#pragma omp task shared(node)
    count_below(*node.right);
  }
  node.below = 2 + node.left->below + node.right->below;
}

long sum_of(const Node* node) {
  return node == nullptr ? 0 : node->value + sum_of(node->left.get()) + sum_of(node->right.get());
}

}  // namespace

int main() {
  std::list<Order> orders = make_orders(500);
  const std::map<std::string, long> sums = sum_up(orders);
  long sum = 0, expected = 0;
  for (const auto& [customer, paid] : sums) {
    CHECK(customer.size() == 22);
    sum += paid;
  }
  for (const Order& order : orders) expected += order.sum;
  CHECK(sums.size() == 10 && sum == expected && expected > 0);

  std::unique_ptr<Node> root;
#pragma omp parallel
#pragma omp single
  {
    root = build(9, 1);
    count_below(*root);
  }
  CHECK(root->below == 1022 && sum_of(root.get()) == 1023L * 1024 / 2);
  puts("list_tasks: passed");
  return 0;
}
