#include "c_api/collective_calls.h"

#include <array>
#include <cstdio>

#include "c_api/job.h"

namespace musubi::c_api {
namespace {

using runtime::CollectiveTerms;

const char* name_of(std::uint32_t call) {
  constexpr std::array<const char*, 14> names{"musubi_init",
                                              "musubi_barrier",
                                              "musubi_broadcast",
                                              "musubi_finalize",
                                              "ginit",
                                              "musubi_broadcast_values",
                                              "musubi_reduce",
                                              "musubi_allreduce",
                                              "musubi_alloc_with",
                                              "musubi_free_with",
                                              "gas_alloc",
                                              "gas_free",
                                              "gas_share",
                                              "gas_unshare"};
  return call < names.size() ? names[call] : "another collective call";
}

class Writer final : public runtime::Coordination::MismatchWriter {
 public:
  void write(std::span<char> text, Rank self, const CollectiveTerms& own, Rank other,
             const CollectiveTerms& theirs) noexcept override {
    std::snprintf(
        text.data(), text.size(),
        "rank %u is in %s where rank %u is in %s: all ranks make the same collective calls in the same "
        "order",
        self.value, described(own).data(), other.value, described(theirs).data());
  }
};

Writer& writer() {
  static Writer only;
  return only;
}

CollectiveTerms terms_of(Call call) {
  CollectiveTerms terms;
  terms.call = static_cast<std::uint32_t>(call);
  return terms;
}

// A program of musubi.h calls dlopen() itself. Accesses without checks, to memory without protection, would
// go unnoticed.
void look_at_opened_objects(runtime::Runtime& runtime) {
  const Job* const job = current_job();
  if (job != nullptr && job->added.has_unprotected()) runtime.checks().objects_opened();
}

}  // namespace

std::array<char, 120> described(const CollectiveTerms& terms) {
  std::array<char, 120> text{};
  if (terms.call == static_cast<std::uint32_t>(Call::alloc_with)) {
    std::snprintf(text.data(), text.size(), "%s (%lu bytes, placement %u at rank %u, policy %u, ...)",
                  name_of(terms.call), static_cast<unsigned long>(terms.part), terms.detail & 0xf, terms.root,
                  terms.detail >> 8 & 0xff);
  } else if (terms.part == 0) {
    std::snprintf(text.data(), text.size(), "%s", name_of(terms.call));
  } else {
    std::snprintf(text.data(), text.size(), "%s (%lu bytes, type %u, operation %u, root %u)",
                  name_of(terms.call), static_cast<unsigned long>(terms.part), terms.detail >> 8,
                  terms.detail & 0xff, terms.root);
  }
  return text;
}

void name_mismatches(runtime::Runtime& runtime) {
  runtime.coordination().set_mismatch_writer(writer());
}

void meet(runtime::Runtime& runtime, Call call, runtime::BarrierPayload& payload) {
  look_at_opened_objects(runtime);
  const CollectiveTerms own = terms_of(call);
  payload[word_of_call] = own.call;
  runtime.coordination().begin_barrier(own);
  runtime.synchronization().barrier(payload);
  runtime.coordination().end_barrier();
  if (payload[word_of_call] == own.call) [[likely]]
    return;
  std::array<char, 400> text{};
  writer().write(text, runtime.self(), own, Rank{0}, terms_of(static_cast<Call>(payload[word_of_call])));
  runtime.ending().abort(1, text.data());
}

void meet(runtime::Runtime& runtime, Call call) {
  runtime::BarrierPayload nothing{};
  meet(runtime, call, nothing);
}

void meet(runtime::Runtime& runtime, Call call, const std::array<std::uint64_t, 3>& arguments) {
  runtime::BarrierPayload payload{arguments[0], arguments[1], arguments[2]};
  meet(runtime, call, payload);
  if (std::equal(arguments.begin(), arguments.end(), payload.begin())) return;
  std::array<char, 200> text{};
  std::snprintf(text.data(), text.size(),
                "rank %u calls %s with other arguments than rank 0: all ranks make the same collective calls "
                "with the same arguments",
                runtime.self().value, name_of(static_cast<std::uint32_t>(call)));
  runtime.ending().abort(1, text.data());
}

bool holds_everywhere(runtime::Runtime& runtime, Call call, bool here) {
  CollectiveTerms terms = terms_of(call);
  terms.bytes = sizeof(std::uint64_t);
  const std::uint64_t mine = here ? 1 : 0;
  bool holds = true;
  gather(runtime, terms, reinterpret_cast<const std::byte*>(&mine), [&](std::size_t, auto all) {
    for (std::size_t at = 0; at < all.size(); at += sizeof mine)
      holds = holds && all[at] != std::byte{0};  // the lowest byte
  });
  return holds;
}

}  // namespace musubi::c_api
