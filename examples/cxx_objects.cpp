// C++ objects across threads: containers that grow inside regions, global objects with constructors and
// destructors, exceptions caught inside a region, memory from new in one thread deleted by another.

#include <omp.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <map>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

constexpr int count = 1000;

int failures = 0;
int global_objects_alive = 0;

// Its destructor runs after main: a wrong count must still change the exit status.
struct Registry {
  std::map<std::string, int> names;
  std::vector<std::string> order;
  Registry() {
    names["made before main"] = 1;
    global_objects_alive++;
  }
  ~Registry() {
    if (--global_objects_alive != 0 || names.size() != count + 1u || order.size() != count) std::_Exit(3);
    std::cout << "registry destroyed with " << names.size() << " names\n" << std::flush;
  }
};
Registry registry;

struct Shape {
  virtual ~Shape() = default;
  virtual int area() const = 0;
};
struct Square : Shape {
  explicit Square(int side) : side_(side) {}
  int area() const override { return side_ * side_; }
  int side_;
};
struct Strip : Shape {
  explicit Strip(int length) : length_(length) {}
  int area() const override { return length_; }
  int length_;
};

void check(const char* name, bool passed) {
  std::cout << name << ": " << (passed ? "ok" : "FAILED") << "\n";
  if (!passed) failures++;
}

void grow_containers() {
  std::vector<int> together;
  std::vector<std::vector<int>> apart(count);
  std::string text;
#pragma omp parallel for schedule(static, 1)
  for (int i = 0; i < count; i++) {
    for (int k = 0; k <= i % 7; k++) apart[i].push_back(i + k);
    const std::string name = "a name too long for the small string buffer, number " + std::to_string(i);
#pragma omp critical(containers)
    {
      together.push_back(i);
      text += static_cast<char>('a' + i % 26);
      registry.names.emplace(name, i);
      registry.order.push_back(name);
    }
  }
  std::sort(together.begin(), together.end());
  bool each = true;
  for (int i = 0; i < count; i++) {
    each = each && together[i] == i && apart[i].size() == i % 7 + 1u && apart[i].back() == i + i % 7;
  }
  check("vectors", together.size() == count && each);
  check("string", text.size() == count && std::count(text.begin(), text.end(), 'a') == (count + 25) / 26);

  int found = 0;
#pragma omp parallel for reduction(+ : found)
  for (int i = 0; i < count; i++) {
    const auto at = registry.names.find(registry.order[i]);
    if (at != registry.names.end() && at->first == registry.order[i]) found++;
  }
  check("map", found == count);
}

void throw_inside() {
  int caught = 0;
  long sum = 0;
#pragma omp parallel for schedule(dynamic, 5) reduction(+ : caught, sum)
  for (int i = 0; i < 100; i++) {
    try {
      if (i % 3 == 0) throw std::runtime_error(std::to_string(i));
      sum += i;
    } catch (const std::runtime_error& error) {
      caught += std::stoi(error.what()) == i;
    }
  }
  check("exceptions", caught == 34 && sum == 4950 - 1683);
}

void hand_over() {
  std::vector<Shape*> shapes(count);
  long area = 0;
#pragma omp parallel
  {
#pragma omp for schedule(static, 1)
    for (int i = 0; i < count; i++) {
      shapes[i] = i % 2 == 0 ? static_cast<Shape*>(new Square(i)) : new Strip(i);
    }
#pragma omp for schedule(static, 3) reduction(+ : area)
    for (int i = 0; i < count; i++) {
      std::unique_ptr<Shape> shape(shapes[count - 1 - i]);
      area += shape->area();
    }
  }
  long expected = 0;
  for (long i = 0; i < count; i++) expected += i % 2 == 0 ? i * i : i;
  check("new here, delete there", area == expected);
}

}  // namespace

int main() {
  check("constructed before main", global_objects_alive == 1 && registry.names.size() == 1);
  grow_containers();
  throw_inside();
  hand_over();
#pragma omp parallel
#pragma omp critical
  std::cout << "thread " << omp_get_thread_num() << " of " << omp_get_num_threads() << " says hello\n";
  std::cout << "VERIFICATION " << (failures == 0 ? "SUCCESSFUL" : "FAILED") << std::endl;
  return failures == 0 ? 0 : 1;
}
