// The memory files of one rank: the program's memory, the public copies, the words of the blocks, the control
// region, global memory, the lists of the policy `entry`.
#pragma once

#include <array>
#include <utility>

#include "base/result.h"
#include "base/sparse_array.h"
#include "coherence/core/block_pages.h"
#include "coherence/core/entry.h"
#include "coherence/entry/layout.h"
#include "coherence/migrating/migrating.h"
#include "fabric/fabric.h"
#include "os/memory.h"
#include "runtime/start/address_plan.h"
#include "sync/control_layout.h"

namespace musubi::runtime {

class MemoryFiles final : public coherence::BlockPages {
 public:
  // `private_file` has private_bytes(plan). Errors: no memory files, no address space.
  static Result<std::unique_ptr<MemoryFiles>> make(os::FileDescriptor private_file, const AddressPlan& plan,
                                                   const sync::ControlLayout& control,
                                                   const coherence::entry::Sizes& entry_sizes);
  static std::size_t private_bytes(const AddressPlan& plan);

  // The memory that the program sees; shared by all ranks if they map one memory.
  int private_file() const { return private_file_.number(); }
  // The files that grow with the blocks in use: private, published, words.
  std::array<int, 3> block_files() const {
    return {private_file_.number(), published_file_.number(), words_file_.number()};
  }
  std::byte* published() const { return published_.data(); }
  coherence::BlockWords* words() const { return reinterpret_cast<coherence::BlockWords*>(words_.data()); }
  std::byte* control() const { return control_.data(); }
  std::byte* updates() const { return updates_.data(); }
  std::byte* global() const { return global_.data(); }
  coherence::Entry* entries() { return entries_.data(); }
  bool give_back(std::size_t offset, std::size_t bytes) noexcept override {
    return os::punch_hole(published_file_, offset, bytes);
  }
  bool throw_out(std::size_t offset, std::size_t bytes) noexcept override {
    return os::punch_hole(private_file_, offset, bytes);
  }
  // The memory that peers may access. `system_view` maps the private file.
  std::array<fabric::RegionMemory, 6> regions(std::byte* system_view) const;

 private:
  MemoryFiles(os::FileDescriptor private_file, std::size_t blocks)
      : private_file_(std::move(private_file)), entries_(blocks) {}

  os::FileDescriptor private_file_, published_file_, words_file_, control_file_, global_file_, updates_file_;
  os::Mapping published_, words_, control_, global_, updates_;
  SparseArray<coherence::Entry> entries_;
};

}  // namespace musubi::runtime
