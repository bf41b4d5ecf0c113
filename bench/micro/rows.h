// Rows of a table of costs, shared by all micro benchmarks so that floors and the costs compared with them
// are in one table of one run.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace musubi::bench {

struct Row {
  std::string name;
  double median_ns = 0;
  double p10_ns = 0;
  double p90_ns = 0;
  std::size_t rounds = 0;  // 0: not measured on this machine
};

// The row of these samples, in ns each; sorts them. No samples give a row of 0 rounds.
Row summarize(std::string name, std::vector<double> samples_ns);

// The row for one item, when each sample took `items` items.
Row per_item(Row row, std::size_t items);

// One line per row under a heading; `csv` separates by commas instead of aligning.
void print_rows(const std::vector<Row>& rows, bool csv);

// CLOCK_MONOTONIC in ns.
double now_ns();

}  // namespace musubi::bench
