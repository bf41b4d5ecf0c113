#include "note.h"

#include "llvm/IR/Constants.h"
#include "llvm/IR/GlobalVariable.h"
#include "llvm/Transforms/Utils/ModuleUtils.h"
#include "sequence.h"

namespace musubi::compiler {

void add_note(llvm::Module& module, Mode mode, const std::string& why_incomplete) {
  llvm::LLVMContext& context = module.getContext();
  const auto word = [&](uint32_t value) {
    return llvm::ConstantInt::get(llvm::Type::getInt32Ty(context), value);
  };
  const auto text = [&](llvm::StringRef characters) {
    return llvm::ConstantDataArray::getString(context, characters);  // ends with 0
  };
  // A variable, and not assembly, which flang cannot turn into an object.
  const uint32_t name_bytes = sizeof MUSUBI_CHECKS_NOTE_NAME, words_bytes = 4 * sizeof(uint32_t);
  const auto reason_bytes = static_cast<uint32_t>(why_incomplete.size() + 1);
  const std::string filling((4 - reason_bytes % 4) % 4, '\0');
  llvm::Constant* note = llvm::ConstantStruct::getAnon(
      // Name and text are filled up to words.
      {word(name_bytes), word(words_bytes + reason_bytes), word(MUSUBI_CHECKS_NOTE_TYPE),
       text(MUSUBI_CHECKS_NOTE_NAME), text(""), word(MUSUBI_CHECKS_ABI), word(granule_shift()),
       word(static_cast<uint32_t>(mode)), word(mode != Mode::hint && why_incomplete.empty() ? 1 : 0),
       text(why_incomplete), llvm::ConstantDataArray::getString(context, filling, /*AddNull=*/false)},
      /*Packed=*/true);
  auto* variable = new llvm::GlobalVariable(module, note->getType(), /*isConstant=*/true,
                                            llvm::GlobalValue::PrivateLinkage, note, "musubi.note");
  variable->setSection(MUSUBI_CHECKS_NOTE_SECTION);
  variable->setAlignment(llvm::Align(4));
  llvm::appendToCompilerUsed(module, {variable});
}

}  // namespace musubi::compiler
