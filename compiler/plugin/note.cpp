#include "note.h"

#include "emit.h"
#include "llvm/Support/FormatVariadic.h"

namespace musubi::compiler {

void add_note(llvm::Module& module) {
  // Mode hint needs no completeness: pages catch the rest. The text that follows the words is empty.
  const std::string text = llvm::formatv(
      R"(.pushsection {0},"a",@note
.p2align 2
.long {1}, 17, {2}
.asciz "{3}"
.p2align 2
.long {4}, {5}, {6}, 0
.byte 0
.p2align 2
.popsection)",
      MUSUBI_CHECKS_NOTE_SECTION, sizeof MUSUBI_CHECKS_NOTE_NAME, MUSUBI_CHECKS_NOTE_TYPE,
      MUSUBI_CHECKS_NOTE_NAME, MUSUBI_CHECKS_ABI, kGranuleShift, MUSUBI_CHECKS_HINT);
  module.appendModuleInlineAsm(text);
}

}  // namespace musubi::compiler
