#include "options.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

namespace musubi::compiler {

Options read_options(const char* text) {
  Options options;
  llvm::SmallVector<llvm::StringRef> items;
  llvm::StringRef(text == nullptr ? "" : text).split(items, ';', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef item : items) {
    auto [name, value] = item.split('=');
    if (name == "report")
      options.report = value.str();
    else if (item != "mode=hint" && options.unknown.empty())
      options.unknown = item.str();
  }
  return options;
}

}  // namespace musubi::compiler
