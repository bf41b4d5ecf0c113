#include "sms/collective_calls.h"

#include <array>
#include <cstdio>

#include "c_api/collective_calls.h"
#include "runtime/threads/waiting.h"

namespace musubi::sms {
namespace {

using runtime::CollectiveTerms;

CollectiveTerms terms_of(const CollectiveCall& call) {
  CollectiveTerms terms;
  terms.call = static_cast<std::uint32_t>(call.call);
  terms.detail = call.argument;
  terms.root = call.manager.value;
  terms.part = call.bytes;
  return terms;
}

// "sms_calloc (100 items of 8 bytes, page manager 1)".
std::array<char, 120> described(const CollectiveTerms& terms) {
  std::array<char, 120> text{};
  const auto bytes = static_cast<unsigned long>(terms.part);
  switch (static_cast<Call>(terms.call)) {
    case Call::startup:
      std::snprintf(text.data(), text.size(), "sms_startup");
      break;
    case Call::shutdown:
      std::snprintf(text.data(), text.size(), "sms_shutdown");
      break;
    case Call::barrier:
      std::snprintf(text.data(), text.size(), "sms_barrier (manager %u)", terms.root);
      break;
    case Call::alloc:
      std::snprintf(text.data(), text.size(), "sms_alloc (%lu bytes, page manager %u)", bytes, terms.root);
      break;
    case Call::calloc:
      std::snprintf(text.data(), text.size(), "sms_calloc (%lu bytes in items of %u, page manager %u)", bytes,
                    terms.detail, terms.root);
      break;
    case Call::change_page_manager:
      std::snprintf(text.data(), text.size(),
                    "sms_change_page_manager (%lu bytes at ...%08x, page manager %u)", bytes, terms.detail,
                    terms.root);
      break;
  }
  return text;
}

std::array<char, 120> of_any_interface(const CollectiveTerms& terms) {
  return terms.call < static_cast<std::uint32_t>(Call::startup) ? c_api::described(terms) : described(terms);
}

class Writer final : public runtime::Coordination::MismatchWriter {
 public:
  void write(std::span<char> text, Rank self, const CollectiveTerms& own, Rank other,
             const CollectiveTerms& theirs) noexcept override {
    std::snprintf(text.data(), text.size(),
                  "process %u is in %s where process %u is in %s: all processes allocate, meet and shut down "
                  "in the same order, with the same arguments",
                  self.value, of_any_interface(own).data(), other.value, of_any_interface(theirs).data());
  }
};

Writer& writer() {
  static Writer only;
  return only;
}

}  // namespace

void name_mismatches(runtime::Runtime& runtime) {
  runtime.coordination().set_mismatch_writer(writer());
}

void compare(runtime::Runtime& runtime, const CollectiveCall& call) {
  const runtime::Waiting wait(runtime::Wait::barrier);
  runtime.coordination().gather(terms_of(call), nullptr, {});
}

// After the barrier all processes have process 0's payload.
void meet(runtime::Runtime& runtime, const CollectiveCall& call) {
  const CollectiveTerms own = terms_of(call);
  runtime::BarrierPayload sent{own.root};
  sent[c_api::word_of_call] = own.call;
  runtime::BarrierPayload received = sent;
  const runtime::Waiting wait(runtime::Wait::barrier);
  runtime.coordination().begin_barrier(own);
  runtime.synchronization().barrier(received);
  runtime.coordination().end_barrier();
  if (received == sent) [[likely]]
    return;
  CollectiveTerms theirs;
  theirs.call = static_cast<std::uint32_t>(received[c_api::word_of_call]);
  theirs.root = static_cast<std::uint32_t>(received[0]);
  std::array<char, 400> text{};
  writer().write(text, runtime.self(), own, Rank{0}, theirs);
  runtime.ending().abort(1, text.data());
}

}  // namespace musubi::sms
