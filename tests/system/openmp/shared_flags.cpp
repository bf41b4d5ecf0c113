// Components by hooking as graph suites in C++ write them: labels that race, and a flag of one byte that any
// thread sets: a variable of the function around the region, or static.
#include <cstdio>
#include <numeric>
#include <utility>
#include <vector>

namespace {

using Vertex = int;

// Vertices and the edges at each, in one array.
struct Graph {
  struct Neighbours {
    const Vertex* first;
    const Vertex* last;
    const Vertex* begin() const { return first; }
    const Vertex* end() const { return last; }
  };
  Neighbours neighbours(Vertex vertex) const {
    const auto at = static_cast<std::size_t>(vertex);
    return {edges.data() + begins[at], edges.data() + begins[at + 1]};
  }
  Vertex size() const { return static_cast<Vertex>(begins.size()) - 1; }

  std::vector<std::size_t> begins;
  std::vector<Vertex> edges;
};

// A plain array, as in those suites.
template <class T>
struct Array {
  T& operator[](int i) { return first[i]; }
  T* first;
};

bool static_change;

unsigned next_random(unsigned below) {
  static unsigned long long state = 88172645463325252ull;
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return static_cast<unsigned>((state >> 20) % below);
}

Graph make_graph(Vertex vertices, int edges) {
  std::vector<std::vector<Vertex>> at(static_cast<std::size_t>(vertices));
  for (int i = 0; i < edges; ++i) {
    const unsigned part = 1u << (4 + i % 12);
    const unsigned base = next_random(static_cast<unsigned>(vertices) / part) * part;
    const unsigned a = base + next_random(part), b = base + next_random(part);
    at[a].push_back(static_cast<Vertex>(b));
    at[b].push_back(static_cast<Vertex>(a));
  }
  Graph graph;
  graph.begins.push_back(0);
  for (const auto& neighbours : at) {
    graph.edges.insert(graph.edges.end(), neighbours.begin(), neighbours.end());
    graph.begins.push_back(graph.edges.size());
  }
  return graph;
}

// The smallest vertex of each vertex's component.
std::vector<Vertex> expected_labels(const Graph& graph) {
  std::vector<Vertex> label(static_cast<std::size_t>(graph.size()));
  std::iota(label.begin(), label.end(), 0);
  const auto root = [&](Vertex v) {
    while (label[static_cast<std::size_t>(v)] != v) v = label[static_cast<std::size_t>(v)];
    return v;
  };
  for (Vertex u = 0; u < graph.size(); ++u) {
    for (const Vertex v : graph.neighbours(u)) {
      const Vertex a = root(u), b = root(v);
      label[static_cast<std::size_t>(a > b ? a : b)] = a > b ? b : a;
    }
  }
  for (Vertex u = 0; u < graph.size(); ++u) label[static_cast<std::size_t>(u)] = root(u);
  return label;
}

void compress(const Graph& graph, Array<Vertex> label) {
#pragma omp parallel for
  for (Vertex u = 0; u < graph.size(); ++u) {
    while (label[u] != label[label[u]]) label[u] = label[label[u]];
  }
}

// Result: rounds. The bodies differ by the place of the flag.
int find_by_local_flag(const Graph& graph, Array<Vertex> label) {
  bool change = true;
  int rounds = 0;
  for (; change && rounds < 1000; ++rounds) {
    change = false;
#pragma omp parallel for
    for (Vertex u = 0; u < graph.size(); ++u) {
      for (const Vertex v : graph.neighbours(u)) {
        const Vertex a = label[u], b = label[v];
        if (a == b) continue;
        const Vertex high = a > b ? a : b, low = a + (b - high);
        if (high == label[high]) {
          change = true;
          label[high] = low;
        }
      }
    }
    compress(graph, label);
  }
  return rounds;
}

int find_by_static_flag(const Graph& graph, Array<Vertex> label) {
  int rounds = 0;
  for (static_change = true; static_change && rounds < 1000; ++rounds) {
    static_change = false;
#pragma omp parallel for
    for (Vertex u = 0; u < graph.size(); ++u) {
      for (const Vertex v : graph.neighbours(u)) {
        const Vertex a = label[u], b = label[v];
        if (a == b) continue;
        const Vertex high = a > b ? a : b, low = a + (b - high);
        if (high == label[high]) {
          static_change = true;
          label[high] = low;
        }
      }
    }
    compress(graph, label);
  }
  return rounds;
}

}  // namespace

int main() {
  const Graph graph = make_graph(60000, 140000);
  const std::vector<Vertex> expected = expected_labels(graph);
  std::vector<Vertex> label(expected.size());
  const std::pair<const char*, int (*)(const Graph&, Array<Vertex>)> ways[] = {
      {"local", find_by_local_flag}, {"static", find_by_static_flag}};
  for (int run = 0; run < 6; ++run) {
    const auto& [name, find] = ways[run % 2];
    Array<Vertex> array{label.data()};
#pragma omp parallel for
    for (Vertex u = 0; u < graph.size(); ++u) array[u] = u;
    if (find(graph, array) == 1000 || label != expected) {
      std::printf("wrong with a %s flag\n", name);
      return 1;
    }
  }
  std::puts("the components are right");
  return 0;
}
