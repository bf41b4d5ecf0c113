#include "note.h"

#include "emit.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/GlobalVariable.h"
#include "llvm/Transforms/Utils/ModuleUtils.h"

namespace musubi::compiler {

void add_note(llvm::Module& module) {
  llvm::LLVMContext& context = module.getContext();
  const auto word = [&](uint32_t value) {
    return llvm::ConstantInt::get(llvm::Type::getInt32Ty(context), value);
  };
  const auto text = [&](llvm::StringRef characters) {
    return llvm::ConstantDataArray::getString(context, characters);  // ends with 0
  };
  // Mode hint needs no completeness, for pages catch the rest: the text after the words is empty. A variable,
  // and not assembly, which flang cannot turn into an object.
  const uint32_t name_bytes = sizeof MUSUBI_CHECKS_NOTE_NAME, words_bytes = 4 * sizeof(uint32_t);
  llvm::Constant* note = llvm::ConstantStruct::getAnon(
      // Name and text are filled up to words.
      {word(name_bytes), word(words_bytes + 1), word(MUSUBI_CHECKS_NOTE_TYPE), text(MUSUBI_CHECKS_NOTE_NAME),
       text(llvm::StringRef()), word(MUSUBI_CHECKS_ABI), word(kGranuleShift), word(MUSUBI_CHECKS_HINT),
       word(0), text(llvm::StringRef("\0\0\0", 3))},
      /*Packed=*/true);
  auto* variable = new llvm::GlobalVariable(module, note->getType(), /*isConstant=*/true,
                                            llvm::GlobalValue::PrivateLinkage, note, "musubi.note");
  variable->setSection(MUSUBI_CHECKS_NOTE_SECTION);
  variable->setAlignment(llvm::Align(4));
  llvm::appendToCompilerUsed(module, {variable});
}

}  // namespace musubi::compiler
