#include "options.h"

#include <cstdlib>

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

namespace musubi::compiler {

namespace {

bool take_mode(llvm::StringRef item, Mode& mode) {
  if (item == "mode=hint")
    mode = Mode::hint;
  else if (item == "mode=adsm")
    mode = Mode::adsm;
  else if (item == "mode=udsm")
    mode = Mode::udsm;
  else
    return false;
  return true;
}

// A power of two that the contract allows.
bool take_granule(llvm::StringRef value, unsigned& shift) {
  for (unsigned one = MUSUBI_CHECKS_GRANULE_SHIFT_MIN; one <= MUSUBI_CHECKS_GRANULE_SHIFT_MAX; ++one) {
    if (value != std::to_string(1U << one)) continue;
    shift = one;
    return true;
  }
  return false;
}

}  // namespace

Options read_options(const char* text) {
  Options options;
  llvm::SmallVector<llvm::StringRef> items;
  llvm::StringRef(text == nullptr ? "" : text).split(items, ';', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef item : items) {
    auto [name, value] = item.split('=');
    if (name == "report")
      options.report = value.str();
    else if (name == "granule" && take_granule(value, options.granule_shift))
      continue;
    else if (item == "count=checks" || item == "count=accesses")
      options.count = value == "checks" ? Count::checks : Count::accesses;
    else if (item == "stores=home-only" || item == "stores=plain")
      options.home_only = value == "home-only";
    else if (item == "atomics=source" || item == "atomics=processor")
      options.marks_orders = value == "source";
    else if (!take_mode(item, options.mode) && options.unknown.empty())
      options.unknown = item.str();
  }
  return options;
}

namespace {

const Options& of_process() {
  static const Options options = read_options(std::getenv(kOptionsVariable));
  return options;
}

}  // namespace

unsigned granule_shift() {
  return of_process().granule_shift;
}

Count counted() {
  return of_process().count;
}

}  // namespace musubi::compiler
