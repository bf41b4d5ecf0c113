#include "touches.h"

#include "library_calls.h"
#include "llvm/IR/DataLayout.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/Transforms/Utils/Local.h"
#include "sequence.h"

namespace musubi::compiler {

namespace {

using llvm::dyn_cast;
using llvm::Value;
using Kind = Touch::Kind;

class Finder {
 public:
  Finder(llvm::Instruction& instruction, llvm::SmallVectorImpl<Touch>& touches)
      : instruction_(instruction), layout_(instruction.getDataLayout()), touches_(touches) {}

  void add_typed(Value* pointer, llvm::Type* type, llvm::Align align, bool writes);
  void add_bytes(Value* pointer, uint64_t bytes, llvm::Align align, bool writes);
  void add_length(Value* pointer, Value* length, bool writes);
  void add_lanes(Kind kind, Value* pointers, Value* align, Value* mask, llvm::Type* vector, bool writes);

 private:
  // Programs of Musubi share memory of address space 0 alone.
  static bool is_shareable(const Value* pointer) {
    return pointer->getType()->getScalarType()->getPointerAddressSpace() == 0;
  }
  llvm::Align align_of(Value* pointer, llvm::Align least) const {
    return std::max(least, llvm::getKnownAlignment(pointer, layout_, &instruction_));
  }

  llvm::Instruction& instruction_;
  const llvm::DataLayout& layout_;
  llvm::SmallVectorImpl<Touch>& touches_;
};

void Finder::add_bytes(Value* pointer, uint64_t bytes, llvm::Align align, bool writes) {
  if (bytes == 0 || !is_shareable(pointer)) return;
  Touch touch{Kind::bytes, &instruction_, pointer, bytes, nullptr, nullptr, align_of(pointer, align), writes};
  if (bytes > static_cast<uint64_t>(granule_bytes())) {
    touch.kind = Kind::range;
    touch.length = llvm::ConstantInt::get(llvm::Type::getInt64Ty(instruction_.getContext()), bytes);
  }
  touches_.push_back(touch);
}

void Finder::add_typed(Value* pointer, llvm::Type* type, llvm::Align align, bool writes) {
  // The processors of the contract have no vectors of a length known at run time.
  add_bytes(pointer, layout_.getTypeStoreSize(type).getKnownMinValue(), align, writes);
}

void Finder::add_length(Value* pointer, Value* length, bool writes) {
  if (const auto* constant = dyn_cast<llvm::ConstantInt>(length))
    return add_bytes(pointer, constant->getZExtValue(), llvm::Align(1), writes);
  if (is_shareable(pointer))
    touches_.push_back({Kind::range, &instruction_, pointer, 0, length, nullptr, llvm::Align(1), writes});
}

void Finder::add_lanes(Kind kind, Value* pointers, Value* align, Value* mask, llvm::Type* vector,
                       bool writes) {
  // Of the whole if it is one piece, else of each lane.
  const auto* number = llvm::dyn_cast_or_null<llvm::ConstantInt>(align);
  const llvm::Align known = number == nullptr ? llvm::Align(1) : number->getMaybeAlignValue().valueOrOne();
  const auto* constant = dyn_cast<llvm::Constant>(mask);
  if (!is_shareable(pointers) || (constant != nullptr && constant->isNullValue())) return;
  if (constant != nullptr && constant->isAllOnesValue() && kind != Kind::gathered)
    return add_typed(pointers, vector, known, writes);
  const uint64_t bytes = layout_.getTypeStoreSize(vector->getScalarType()).getFixedValue();
  touches_.push_back({kind, &instruction_, pointers, bytes, nullptr, mask, known, writes});
}

// Result: whether the intrinsic is one that touches memory by lanes.
bool append_lanes(llvm::IntrinsicInst& intrinsic, Finder& finder) {
  const auto argument = [&](unsigned i) { return intrinsic.getArgOperand(i); };
  switch (intrinsic.getIntrinsicID()) {
    case llvm::Intrinsic::masked_load:
      finder.add_lanes(Kind::masked, argument(0), argument(1), argument(2), intrinsic.getType(), false);
      return true;
    case llvm::Intrinsic::masked_store:
      finder.add_lanes(Kind::masked, argument(1), argument(2), argument(3), argument(0)->getType(), true);
      return true;
    case llvm::Intrinsic::masked_expandload:
      finder.add_lanes(Kind::packed, argument(0), nullptr, argument(1), intrinsic.getType(), false);
      return true;
    case llvm::Intrinsic::masked_compressstore:
      finder.add_lanes(Kind::packed, argument(1), nullptr, argument(2), argument(0)->getType(), true);
      return true;
    case llvm::Intrinsic::masked_gather:
      finder.add_lanes(Kind::gathered, argument(0), argument(1), argument(2), intrinsic.getType(), false);
      return true;
    case llvm::Intrinsic::masked_scatter:
      finder.add_lanes(Kind::gathered, argument(1), argument(2), argument(3), argument(0)->getType(), true);
      return true;
    default:
      return false;
  }
}

// Result: whether the intrinsic is one that is known here.
bool append_intrinsic(llvm::IntrinsicInst& intrinsic, Finder& finder) {
  constexpr uint64_t list_bytes = 24;  // of a va_list
  if (auto* memory = dyn_cast<llvm::AnyMemIntrinsic>(&intrinsic)) {
    if (auto* transfer = dyn_cast<llvm::AnyMemTransferInst>(memory))
      finder.add_length(transfer->getRawSource(), transfer->getLength(), false);
    finder.add_length(memory->getRawDest(), memory->getLength(), true);
    return true;
  }
  switch (intrinsic.getIntrinsicID()) {
    case llvm::Intrinsic::vacopy:
      finder.add_bytes(intrinsic.getArgOperand(1), list_bytes, llvm::Align(8), false);
      [[fallthrough]];
    case llvm::Intrinsic::vastart:
      finder.add_bytes(intrinsic.getArgOperand(0), list_bytes, llvm::Align(8), true);
      return true;
    case llvm::Intrinsic::vaend:
    case llvm::Intrinsic::prefetch:
      return true;
    default:
      return append_lanes(intrinsic, finder);
  }
}

// Functions of the C library whose arguments name the bytes that they touch. Result: whether the call is one.
bool append_library_call(llvm::CallBase& call, llvm::LibFunc function, Finder& finder) {
  const auto argument = [&](unsigned i) { return call.getArgOperand(i); };
  switch (function) {
    case llvm::LibFunc_memcpy:
    case llvm::LibFunc_memcpy_chk:
    case llvm::LibFunc_mempcpy:
    case llvm::LibFunc_mempcpy_chk:
    case llvm::LibFunc_memmove:
    case llvm::LibFunc_memmove_chk:
      finder.add_length(argument(1), argument(2), false);
      finder.add_length(argument(0), argument(2), true);
      return true;
    case llvm::LibFunc_memset:
    case llvm::LibFunc_memset_chk:
      finder.add_length(argument(0), argument(2), true);
      return true;
    case llvm::LibFunc_bzero:
      finder.add_length(argument(0), argument(1), true);
      return true;
    case llvm::LibFunc_bcopy:
      finder.add_length(argument(0), argument(2), false);
      finder.add_length(argument(1), argument(2), true);
      return true;
    case llvm::LibFunc_memcmp:
    case llvm::LibFunc_bcmp:
      finder.add_length(argument(0), argument(2), false);
      finder.add_length(argument(1), argument(2), false);
      return true;
    default:
      return false;
  }
}

// Result: whether the call is one of those that touch no more than such arguments.
bool append_fixed_arguments(llvm::CallBase& call, Finder& finder) {
  const llvm::Function* callee = call.getCalledFunction();
  if (callee == nullptr || !callee->isDeclaration()) return false;
  const llvm::ArrayRef<FixedArgument> arguments = fixed_arguments(callee->getName());
  for (const FixedArgument& argument : arguments) {
    if (argument.number >= call.arg_size() || !call.getArgOperand(argument.number)->getType()->isPointerTy())
      return false;
  }
  for (const FixedArgument& argument : arguments) {
    llvm::Value* const pointer = call.getArgOperand(argument.number);
    if (!llvm::isa<llvm::ConstantPointerNull>(pointer))
      finder.add_bytes(pointer, argument.bytes, llvm::Align(1), argument.writes);
  }
  return !arguments.empty();
}

bool append_call(llvm::CallBase& call, const llvm::TargetLibraryInfo& library, Finder& finder) {
  if (auto* intrinsic = dyn_cast<llvm::IntrinsicInst>(&call)) return append_intrinsic(*intrinsic, finder);
  // The call copies such an argument.
  for (unsigned i = 0; i < call.arg_size(); ++i)
    if (call.isByValArgument(i))
      finder.add_typed(call.getArgOperand(i), call.getParamByValType(i), llvm::Align(1), false);
  llvm::LibFunc function;
  if (library.getLibFunc(call, function) && append_library_call(call, function, finder)) return true;
  return append_fixed_arguments(call, finder);
}

}  // namespace

bool append_touches(llvm::Instruction& instruction, const llvm::TargetLibraryInfo& library,
                    llvm::SmallVectorImpl<Touch>& touches) {
  Finder finder(instruction, touches);
  if (auto* load = dyn_cast<llvm::LoadInst>(&instruction)) {
    finder.add_typed(load->getPointerOperand(), load->getType(), load->getAlign(), false);
  } else if (auto* store = dyn_cast<llvm::StoreInst>(&instruction)) {
    finder.add_typed(store->getPointerOperand(), store->getValueOperand()->getType(), store->getAlign(),
                     true);
  } else if (auto* update = dyn_cast<llvm::AtomicRMWInst>(&instruction)) {
    finder.add_typed(update->getPointerOperand(), update->getType(), update->getAlign(), true);
  } else if (auto* swap = dyn_cast<llvm::AtomicCmpXchgInst>(&instruction)) {
    finder.add_typed(swap->getPointerOperand(), swap->getNewValOperand()->getType(), swap->getAlign(), true);
  } else if (auto* call = dyn_cast<llvm::CallBase>(&instruction)) {
    return append_call(*call, library, finder);
  } else {
    return !instruction.mayReadOrWriteMemory() || llvm::isa<llvm::FenceInst>(instruction);
  }
  return true;
}

}  // namespace musubi::compiler
