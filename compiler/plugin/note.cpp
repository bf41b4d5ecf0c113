#include "note.h"

#include "llvm/IR/Constants.h"
#include "llvm/IR/GlobalVariable.h"
#include "llvm/Transforms/Utils/ModuleUtils.h"
#include "sequence.h"

namespace musubi::compiler {

namespace {

// The texts of the description, each with its 0.
std::string texts_of(const Completeness& completeness) {
  std::string texts = completeness.why_not + '\0';
  for (const auto& [name, place] : completeness.calls) texts += name + '\0' + place + '\0';
  texts += '\0';
  for (const std::string& name : completeness.definitions) texts += name + '\0';
  texts += '\0';
  return texts;
}

}  // namespace

void add_note(llvm::Module& module, Mode mode, const Completeness& completeness) {
  llvm::LLVMContext& context = module.getContext();
  const auto word = [&](uint32_t value) {
    return llvm::ConstantInt::get(llvm::Type::getInt32Ty(context), value);
  };
  const auto text = [&](llvm::StringRef characters) {
    return llvm::ConstantDataArray::getString(context, characters);  // ends with 0
  };
  // A variable, and not assembly, which flang cannot turn into an object.
  const uint32_t name_bytes = sizeof MUSUBI_CHECKS_NOTE_NAME, words_bytes = 4 * sizeof(uint32_t);
  const std::string texts = texts_of(completeness);
  const auto texts_bytes = static_cast<uint32_t>(texts.size());
  const std::string filling((4 - texts_bytes % 4) % 4, '\0');
  llvm::Constant* note = llvm::ConstantStruct::getAnon(
      // Name and text are filled up to words.
      {word(name_bytes), word(words_bytes + texts_bytes), word(MUSUBI_CHECKS_NOTE_TYPE),
       text(MUSUBI_CHECKS_NOTE_NAME), text(""), word(MUSUBI_CHECKS_ABI), word(granule_shift()),
       word(static_cast<uint32_t>(mode)), word(mode != Mode::hint && completeness.why_not.empty() ? 1 : 0),
       llvm::ConstantDataArray::getString(context, texts + filling, /*AddNull=*/false)},
      /*Packed=*/true);
  auto* variable = new llvm::GlobalVariable(module, note->getType(), /*isConstant=*/true,
                                            llvm::GlobalValue::PrivateLinkage, note, "musubi.note");
  variable->setSection(MUSUBI_CHECKS_NOTE_SECTION);
  variable->setAlignment(llvm::Align(4));
  llvm::appendToCompilerUsed(module, {variable});
}

}  // namespace musubi::compiler
