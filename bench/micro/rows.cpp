#include "rows.h"

#include <time.h>

#include <algorithm>
#include <cstdio>
#include <utility>

namespace musubi::bench {

Row summarize(std::string name, std::vector<double> samples_ns) {
  Row row;
  row.name = std::move(name);
  row.rounds = samples_ns.size();
  if (samples_ns.empty()) return row;
  std::sort(samples_ns.begin(), samples_ns.end());
  const auto quantile = [&](double part) {
    return samples_ns[static_cast<std::size_t>(part * static_cast<double>(samples_ns.size() - 1) + 0.5)];
  };
  row.p10_ns = quantile(0.1);
  row.median_ns = quantile(0.5);
  row.p90_ns = quantile(0.9);
  return row;
}

Row per_item(Row row, std::size_t items) {
  for (double* ns : {&row.median_ns, &row.p10_ns, &row.p90_ns}) *ns /= static_cast<double>(items);
  return row;
}

void print_rows(const std::vector<Row>& rows, bool csv) {
  if (csv) {
    std::printf("name,median_ns,p10_ns,p90_ns,rounds\n");
  } else {
    std::printf("%-56s %11s %11s %11s %8s\n", "name", "median ns", "p10", "p90", "rounds");
  }
  for (const Row& row : rows) {
    if (csv) {
      std::printf("\"%s\",%.1f,%.1f,%.1f,%zu\n", row.name.c_str(), row.median_ns, row.p10_ns, row.p90_ns,
                  row.rounds);
    } else if (row.rounds == 0) {
      std::printf("%-56s not measured on this machine\n", row.name.c_str());
    } else {
      std::printf("%-56s %11.0f %11.0f %11.0f %8zu\n", row.name.c_str(), row.median_ns, row.p10_ns,
                  row.p90_ns, row.rounds);
    }
  }
}

double now_ns() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

}  // namespace musubi::bench
