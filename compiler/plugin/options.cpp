#include "options.h"

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

}  // namespace

Options read_options(const char* text) {
  Options options;
  llvm::SmallVector<llvm::StringRef> items;
  llvm::StringRef(text == nullptr ? "" : text).split(items, ';', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef item : items) {
    auto [name, value] = item.split('=');
    if (name == "report")
      options.report = value.str();
    else if (item == "stores=home-only" || item == "stores=plain")
      options.home_only = value == "home-only";
    else if (!take_mode(item, options.mode) && options.unknown.empty())
      options.unknown = item.str();
  }
  return options;
}

}  // namespace musubi::compiler
