#include "launch/hosts/wire/orders.h"

#include <nlohmann/json.hpp>
#include <tuple>

template <>
struct nlohmann::adl_serializer<std::chrono::nanoseconds> {
  static void to_json(json& to, std::chrono::nanoseconds time) { to = time.count(); }
  static void from_json(const json& from, std::chrono::nanoseconds& time) {
    time = std::chrono::nanoseconds(from.get<std::int64_t>());
  }
};

namespace musubi::launch {

using Json = nlohmann::json;

namespace {

// The members of each type, in the order of its array.
auto fields(Greeting& x) {
  return std::tie(x.version, x.build);
}
auto fields(Fact& x) {
  return std::tie(x.subject, x.value, x.remedy);
}
auto fields(JobOrder& x) {
  bootstrap::local::Welcome& welcome = x.welcome;
  return std::tie(x.host, x.folder, x.program, x.arguments, x.environment, x.stack_bytes, x.file_mask,
                  x.ignored_signals, x.ranks, x.here.first, x.here.count, welcome.secret, welcome.host_of,
                  welcome.carrier.process, welcome.carrier.file, x.bind, x.threads_per_rank,
                  x.events_per_thread, x.label_output, x.plain, x.started_by_other, x.examine, x.host_timeout,
                  x.start_timeout);
}
auto fields(Death& x) {
  return std::tie(x.rank.value, x.process_id, x.ending.by_signal, x.ending.number);
}
auto fields(Abort& x) {
  return std::tie(x.rank.value, x.process_id, x.status, x.reason);
}
auto fields(Endings& x) {
  return std::tie(x.deaths, x.aborts, x.memory_ran_out);
}
auto fields(ThreadState& x) {
  return std::tie(x.rank.value, x.thread_id, x.wait, x.object, x.address, x.call_site, x.task, x.moves,
                  x.looks, x.team_number, x.team_size, x.held, x.sleeps, x.stopped, x.processor_ticks,
                  x.kernel_call);
}
auto fields(RankState& x) {
  return std::tie(x.rank.value, x.process, x.without_record, x.threads);
}

template <class T>
concept Record = requires(T& x) { fields(x); };

}  // namespace

// Found by the library, by the types of their arguments.
template <Record T>
void to_json(Json& json, const T& record) {
  json = Json::array();
  std::apply([&](const auto&... field) { (json.push_back(field), ...); }, fields(const_cast<T&>(record)));
}
template <Record T>
void from_json(const Json& json, T& record) {
  std::size_t next = 0;
  std::apply([&](auto&... field) { (json.at(next++).get_to(field), ...); }, fields(record));
}

template <class T>
std::string encode(const T& message) {
  std::string bytes;
  Json::to_cbor(Json(message), bytes);
  return bytes;
}

// On any mismatch the library throws, which ends here.
template <class T>
Result<T> decode(std::string_view bytes) {
  try {
    return Json::from_cbor(bytes).get<T>();
  } catch (const Json::exception&) {
    return Error{
        "launcher and proxy do not understand each other; install one version of Musubi on all hosts"};
  }
}

template std::string encode(const Greeting&);
template std::string encode(const JobOrder&);
template std::string encode(const Endings&);
template std::string encode(const std::vector<Fact>&);
template std::string encode(const std::vector<RankState>&);
template Result<Greeting> decode(std::string_view);
template Result<JobOrder> decode(std::string_view);
template Result<Endings> decode(std::string_view);
template Result<std::vector<Fact>> decode(std::string_view);
template Result<std::vector<RankState>> decode(std::string_view);

}  // namespace musubi::launch
