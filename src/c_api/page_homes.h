// Questions to the homes of relocatable pages, as remote calls: for the directory that homes serve (setting
// gas_directory).
#pragma once

#include <cstddef>
#include <span>

#include "global_pages/directory.h"
#include "runtime/api/runtime.h"

namespace musubi::c_api {

inline constexpr runtime::ProcedureId page_home_procedure{1};

// At each home. Answers from the space of the process, which every rank has before any rank asks.
class PageHome final : public runtime::Procedure {
 public:
  runtime::Answer run(Rank caller, std::span<const std::byte> request,
                      std::span<std::byte> reply) noexcept override;
};

class PageHomeCalls final : public global_pages::HomeCalls {
 public:
  explicit PageHomeCalls(runtime::Runtime& runtime) : runtime_(runtime) {}

  Task<std::size_t> ask(Rank home, std::span<const std::byte> question, std::span<std::byte> answer) override;

 private:
  runtime::Runtime& runtime_;
};

}  // namespace musubi::c_api
