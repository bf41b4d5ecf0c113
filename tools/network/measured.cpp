#include "network/measured.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

namespace musubi::tools::network {
namespace {

using Json = nlohmann::json;

// Bounds of plausible values; a number above them is an error.
constexpr std::uint64_t latency_max_ns = 1'000'000'000, bits_per_second_max = 10'000'000'000'000;

std::uint64_t number_in(const Json& pair, const char* name, std::uint64_t most) {
  const Json& value = pair.at(name);
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() == 0 || value.get<std::uint64_t>() > most) {
    throw std::invalid_argument("`" + std::string(name) + "` is not a number from 1 to " +
                                std::to_string(most) + ": " + value.dump());
  }
  return value.get<std::uint64_t>();
}

Measured measured_in(const Json& network) {
  Measured measured;
  network.at("fabric").get_to(measured.fabric);
  for (const Json& pair : network.at("pairs")) {
    measured.pairs.push_back({pair.at("by").get<std::string>(), pair.at("from").get<std::string>(),
                              number_in(pair, "asleep_ns", latency_max_ns),
                              number_in(pair, "awake_ns", latency_max_ns),
                              number_in(pair, "bits_per_second", bits_per_second_max)});
  }
  return measured;
}

}  // namespace

std::uint64_t median(std::vector<std::uint64_t> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

std::string as_json(const Measured& measured) {
  Json pairs = Json::array();
  for (const MeasuredPair& pair : measured.pairs) {
    pairs.push_back({{"by", pair.by},
                     {"from", pair.from},
                     {"asleep_ns", pair.asleep_ns},
                     {"awake_ns", pair.awake_ns},
                     {"bits_per_second", pair.bits_per_second}});
  }
  return Json{{"fabric", measured.fabric}, {"pairs", pairs}}.dump();
}

Result<Measured> parse(std::string_view json) {
  try {
    const Json whole = Json::parse(json);
    return measured_in(whole.contains("network") ? whole.at("network") : whole);
  } catch (const std::exception& error) {  // from the library, or from number_in()
    return Error{error.what()};
  }
}

Result<fabric::Distance> distance_among(const Measured& measured, std::span<const std::string> hosts) {
  const std::set<std::string> chosen(hosts.begin(), hosts.end());
  std::vector<std::uint64_t> latencies, bandwidths;
  for (const MeasuredPair& pair : measured.pairs) {
    if (!chosen.empty() && (!chosen.contains(pair.by) || !chosen.contains(pair.from))) continue;
    latencies.push_back(pair.asleep_ns);
    bandwidths.push_back(pair.bits_per_second);
  }
  if (latencies.empty()) return Error{"it has no pair of the hosts of this job"};
  return fabric::Distance{median(latencies), median(bandwidths)};
}

}  // namespace musubi::tools::network
