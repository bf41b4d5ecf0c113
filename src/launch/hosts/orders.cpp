#include "launch/hosts/orders.h"

#include <nlohmann/json.hpp>

namespace musubi::launch {
namespace {

using Json = nlohmann::json;

Error malformed() {
  return Error{"launcher and proxy do not understand each other; install one version of Musubi on all hosts"};
}

std::string bytes_of(const Json& json) {
  std::string bytes;
  Json::to_cbor(json, bytes);
  return bytes;
}

// `read` decodes the received bytes; on any mismatch the library throws, which ends here.
template <class T, class Read>
Result<T> decode(std::string_view bytes, Read read) {
  try {
    return read(Json::from_cbor(bytes));
  } catch (const Json::exception&) {
    return malformed();
  }
}

Json ending_of(const Death& death) {
  return {death.rank.value, death.process_id, death.ending.by_signal, death.ending.number};
}

Json thread_of(const ThreadState& thread) {
  return {thread.rank.value,
          thread.thread_id,
          static_cast<std::uint32_t>(thread.wait),
          {thread.object, thread.address, thread.call_site, thread.task, thread.moves, thread.looks},
          thread.team_number,
          thread.team_size,
          thread.held,
          {thread.sleeps, thread.stopped},
          thread.processor_ticks,
          thread.kernel_call};
}

ThreadState read_thread(const Json& json) {
  ThreadState thread;
  thread.rank = Rank(json.at(0).get<std::uint32_t>());
  thread.thread_id = json.at(1).get<pid_t>();
  thread.wait = static_cast<trace::Wait>(json.at(2).get<std::uint32_t>());
  const Json& words = json.at(3);
  std::uint64_t* const targets[] = {&thread.object, &thread.address, &thread.call_site,
                                    &thread.task,   &thread.moves,   &thread.looks};
  for (std::size_t i = 0; i < std::size(targets); ++i) *targets[i] = words.at(i).get<std::uint64_t>();
  thread.team_number = json.at(4).get<std::uint32_t>();
  thread.team_size = json.at(5).get<std::uint32_t>();
  thread.held = json.at(6).get<std::vector<std::uint32_t>>();
  thread.sleeps = json.at(7).at(0).get<bool>();
  thread.stopped = json.at(7).at(1).get<bool>();
  thread.processor_ticks = json.at(8).get<std::uint64_t>();
  thread.kernel_call = json.at(9).get<std::string>();
  return thread;
}

}  // namespace

std::string encode(const Greeting& greeting) {
  return bytes_of({greeting.version, greeting.build});
}

Result<Greeting> decode_greeting(std::string_view bytes) {
  return decode<Greeting>(bytes, [](const Json& json) {
    return Greeting{json.at(0).get<std::string>(), json.at(1).get<std::string>()};
  });
}

std::string encode(const JobOrder& order) {
  Json json;
  json["host"] = order.host;
  json["folder"] = order.folder;
  json["program"] = order.program;
  json["arguments"] = order.arguments;
  json["environment"] = order.environment;
  json["stack_bytes"] = order.stack_bytes;
  json["file_mask"] = order.file_mask;
  json["ignored_signals"] = order.ignored_signals;
  json["ranks"] = order.ranks;
  json["here"] = {order.here.first, order.here.count};
  json["secret"] = order.welcome.secret;
  json["host_of"] = order.welcome.host_of;
  json["carrier"] = {order.welcome.carrier.process, order.welcome.carrier.file};
  json["bind"] = order.bind;
  json["threads_per_rank"] = order.threads_per_rank;
  json["events_per_thread"] = order.events_per_thread;
  json["label_output"] = order.label_output;
  json["plain"] = order.plain;
  json["started_by_other"] = order.started_by_other;
  json["examine"] = order.examine;
  json["host_timeout"] = order.host_timeout.count();
  json["start_timeout"] = order.start_timeout.count();
  return bytes_of(json);
}

Result<JobOrder> decode_order(std::string_view bytes) {
  return decode<JobOrder>(bytes, [](const Json& json) {
    JobOrder order;
    json.at("host").get_to(order.host);
    json.at("folder").get_to(order.folder);
    json.at("program").get_to(order.program);
    json.at("arguments").get_to(order.arguments);
    json.at("environment").get_to(order.environment);
    json.at("stack_bytes").get_to(order.stack_bytes);
    json.at("file_mask").get_to(order.file_mask);
    json.at("ignored_signals").get_to(order.ignored_signals);
    json.at("ranks").get_to(order.ranks);
    json.at("here").at(0).get_to(order.here.first);
    json.at("here").at(1).get_to(order.here.count);
    json.at("secret").get_to(order.welcome.secret);
    json.at("host_of").get_to(order.welcome.host_of);
    json.at("carrier").at(0).get_to(order.welcome.carrier.process);
    json.at("carrier").at(1).get_to(order.welcome.carrier.file);
    json.at("bind").get_to(order.bind);
    json.at("threads_per_rank").get_to(order.threads_per_rank);
    json.at("events_per_thread").get_to(order.events_per_thread);
    json.at("label_output").get_to(order.label_output);
    json.at("plain").get_to(order.plain);
    json.at("started_by_other").get_to(order.started_by_other);
    json.at("examine").get_to(order.examine);
    order.host_timeout = std::chrono::nanoseconds(json.at("host_timeout").get<std::int64_t>());
    order.start_timeout = std::chrono::nanoseconds(json.at("start_timeout").get<std::int64_t>());
    return order;
  });
}

std::string encode(const std::vector<Fact>& facts) {
  Json json = Json::array();
  for (const Fact& fact : facts) json.push_back({fact.subject, fact.value, fact.remedy});
  return bytes_of(json);
}

Result<std::vector<Fact>> decode_facts(std::string_view bytes) {
  return decode<std::vector<Fact>>(bytes, [](const Json& json) {
    std::vector<Fact> facts;
    for (const Json& fact : json) {
      facts.push_back(
          {fact.at(0).get<std::string>(), fact.at(1).get<std::string>(), fact.at(2).get<std::string>()});
    }
    return facts;
  });
}

std::string encode(const Endings& endings) {
  Json deaths = Json::array(), aborts = Json::array();
  for (const Death& death : endings.deaths) deaths.push_back(ending_of(death));
  for (const Abort& abort : endings.aborts) {
    aborts.push_back({abort.rank.value, abort.process_id, abort.status, abort.reason});
  }
  return bytes_of({deaths, aborts, endings.memory_ran_out});
}

Result<Endings> decode_endings(std::string_view bytes) {
  return decode<Endings>(bytes, [](const Json& json) {
    Endings endings;
    for (const Json& death : json.at(0)) {
      endings.deaths.push_back({Rank(death.at(0).get<std::uint32_t>()),
                                death.at(1).get<int>(),
                                {death.at(2).get<bool>(), death.at(3).get<int>()}});
    }
    for (const Json& abort : json.at(1)) {
      endings.aborts.push_back({Rank(abort.at(0).get<std::uint32_t>()), abort.at(1).get<int>(),
                                abort.at(2).get<int>(), abort.at(3).get<std::string>()});
    }
    endings.memory_ran_out = json.at(2).get<bool>();
    return endings;
  });
}

std::string encode(const std::vector<RankState>& states) {
  Json json = Json::array();
  for (const RankState& state : states) {
    Json threads = Json::array();
    for (const ThreadState& thread : state.threads) threads.push_back(thread_of(thread));
    json.push_back({state.rank.value, state.process, state.without_record, threads});
  }
  return bytes_of(json);
}

Result<std::vector<RankState>> decode_states(std::string_view bytes) {
  return decode<std::vector<RankState>>(bytes, [](const Json& json) {
    std::vector<RankState> states;
    for (const Json& state : json) {
      RankState one;
      one.rank = Rank(state.at(0).get<std::uint32_t>());
      one.process = state.at(1).get<pid_t>();
      one.without_record = state.at(2).get<std::uint32_t>();
      for (const Json& thread : state.at(3)) one.threads.push_back(read_thread(thread));
      states.push_back(std::move(one));
    }
    return states;
  });
}

}  // namespace musubi::launch
