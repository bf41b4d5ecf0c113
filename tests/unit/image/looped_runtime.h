// A runtime whose calls of another rank run in the same process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "runtime/api/runtime.h"

namespace musubi::image {

// Rank 0 of two; calls of the other rank run here.
class LoopedRuntime final : public runtime::Runtime, private runtime::RemoteCalls {
 public:
  LoopedRuntime() : Runtime(Rank{0}, bootstrap::Hosts::one(2), settings_, counters_) {
    Interfaces interfaces;
    interfaces.remote_calls = this;
    give(interfaces);
  }
  int calls = 0;
  std::size_t sent_bytes = 0;

 private:
  void serve(runtime::ProcedureId, runtime::Procedure& procedure) noexcept override { served_ = &procedure; }
  runtime::Answer call(Rank, runtime::ProcedureId, std::span<const std::byte> request,
                       std::span<std::byte> reply) override {
    ++calls;
    sent_bytes += request.size();
    return served_->run(Rank{0}, request, reply);
  }
  Task<runtime::Answer> ask(Rank, runtime::ProcedureId, std::span<const std::byte>,
                            std::span<std::byte>) override {
    std::abort();
  }
  std::int64_t call_others(runtime::ProcedureId id, std::span<const std::byte> request) override {
    std::byte reply[runtime::call_bytes_max];
    return call(Rank{1}, id, request, reply).status;
  }

  config::Settings settings_;
  trace::Counters counters_;
  runtime::Procedure* served_ = nullptr;
};

}  // namespace musubi::image
