#include "emit_points.h"

#include "counts.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/DerivedTypes.h"
#include "llvm/IR/Function.h"
#include "sequence.h"

namespace musubi::compiler {

namespace {

using llvm::IRBuilder;
using llvm::Value;

class PointEmitter {
 public:
  explicit PointEmitter(llvm::LLVMContext& context) : sequence_(context) {}
  void emit(const Point& point);

 private:
  void test_bytes(IRBuilder<>& builder, Value* address, uint64_t bytes, llvm::Align align,
                  Permission permission);
  void test_ends(IRBuilder<>& builder, Value* address, Value* bytes, Permission permission);
  void test_range(IRBuilder<>& builder, Value* address, Value* bytes, bool writes);
  void test_masked(IRBuilder<>& builder, const Touch& touch);
  void test_packed(IRBuilder<>& builder, const Touch& touch);
  void test_gathered(IRBuilder<>& builder, const Touch& touch);
  Value* bits_of(IRBuilder<>& builder, Value* mask);
  void compare(IRBuilder<>& builder, llvm::StoreInst& store, unsigned words);
  void call_range(IRBuilder<>& builder, Value* address, Value* bytes, bool writes);
  void call(IRBuilder<>& builder, unsigned entry, Value* address) {
    sequence_.call(builder, sequence_.slot(builder, entry), {address}, Effects::all);
  }

  Sequence sequence_;
};

unsigned entry_of(Permission permission) {
  if (permission == Permission::read) return MUSUBI_CHECKS_ENTRY_READ;
  return permission == Permission::store ? MUSUBI_CHECKS_ENTRY_STORE : MUSUBI_CHECKS_ENTRY_WRITE;
}

void PointEmitter::call_range(IRBuilder<>& builder, Value* address, Value* bytes, bool writes) {
  const unsigned entry = writes ? MUSUBI_CHECKS_ENTRY_WRITE_RANGE : MUSUBI_CHECKS_ENTRY_READ_RANGE;
  sequence_.call(builder, sequence_.slot(builder, entry), {address, bytes}, Effects::all);
}

// Bytes that may lie in two granules, but not in more.
void PointEmitter::test_ends(IRBuilder<>& builder, Value* address, Value* bytes, Permission permission) {
  count(builder, permission == Permission::read ? Counted::read_point : Counted::write_point);
  Value* last = builder.CreateAdd(address, builder.CreateSub(bytes, sequence_.number(1)));
  // One load shows the granule and its neighbour; the ends are looked at only if one of the two is closed.
  llvm::Instruction* place =
      sequence_.branch(builder, sequence_.is_pair_closed(builder, address, permission), /*is_rare=*/true);
  Value* states = sequence_.states(builder, address, last);
  sequence_.branch(builder, sequence_.is_closed(builder, states, permission), /*is_rare=*/false);
  if (permission == Permission::store) {
    call(builder, MUSUBI_CHECKS_ENTRY_STORE, address);
    call(builder, MUSUBI_CHECKS_ENTRY_STORE, last);
  } else {
    call_range(builder, address, bytes, permission == Permission::write);
  }
  builder.SetInsertPoint(place);
}

void PointEmitter::test_bytes(IRBuilder<>& builder, Value* address, uint64_t bytes, llvm::Align align,
                              Permission permission) {
  if (bytes > align.value()) return test_ends(builder, address, sequence_.number(bytes), permission);
  count(builder, permission == Permission::read ? Counted::read_point : Counted::write_point);
  Value* state = sequence_.state(builder, address);
  llvm::Instruction* place =
      sequence_.branch(builder, sequence_.is_closed(builder, state, permission), /*is_rare=*/true);
  call(builder, entry_of(permission), address);
  builder.SetInsertPoint(place);
}

// Both comparison and store see the value frozen: it might be another one at each look. This comes before the
// check to store, which then finds the granule open.
void PointEmitter::compare(IRBuilder<>& builder, llvm::StoreInst& store, unsigned words) {
  Value* value = store.getValueOperand();
  if (!llvm::isGuaranteedNotToBeUndefOrPoison(value, nullptr, &store)) value = builder.CreateFreeze(value);
  store.setOperand(0, value);
  const uint64_t bits = store.getDataLayout().getTypeSizeInBits(value->getType());
  llvm::Type* type = builder.getIntNTy(static_cast<unsigned>(bits));
  Value* integer = value->getType()->isPointerTy() ? builder.CreatePtrToInt(value, type)
                                                   : builder.CreateBitCast(value, type);
  Value* is_unwritten = nullptr;
  for (unsigned word = 0; words >> word != 0; ++word) {
    if ((words >> word & 1) == 0) continue;
    Value* shifted = word == 0 ? integer : builder.CreateLShr(integer, 32 * word);
    Value* is_same = builder.CreateICmpEQ(builder.CreateTrunc(shifted, builder.getInt32Ty()),
                                          builder.getInt32(MUSUBI_CHECKS_UNWRITTEN));
    is_unwritten = is_unwritten == nullptr ? is_same : builder.CreateOr(is_unwritten, is_same);
  }
  llvm::Instruction* place = sequence_.branch(builder, is_unwritten, /*is_rare=*/true);
  call(builder, MUSUBI_CHECKS_ENTRY_WRITE,
       builder.CreatePtrToInt(store.getPointerOperand(), sequence_.word()));
  builder.SetInsertPoint(place);
}

void PointEmitter::test_range(IRBuilder<>& builder, Value* address, Value* bytes, bool writes) {
  count(builder, writes ? Counted::write_range : Counted::read_range);
  Value* end = builder.CreateAdd(address, bytes);
  end = builder.CreateBinaryIntrinsic(llvm::Intrinsic::umin, end, sequence_.number(address_limit()));
  // No byte, or a number of bytes that is none.
  llvm::Instruction* place =
      sequence_.branch(builder, builder.CreateICmpULT(address, end), /*is_rare=*/false);
  bytes = builder.CreateSub(end, address);
  Value* first = builder.CreateLShr(address, granule_shift());
  Value* last = builder.CreateLShr(builder.CreateSub(end, sequence_.number(1)), granule_shift());
  sequence_.branch(builder, sequence_.is_closed(builder, first, last, writes), /*is_rare=*/true);
  call_range(builder, address, bytes, writes);
  builder.SetInsertPoint(place);
}

unsigned lanes_of(const Value* mask) {
  return llvm::cast<llvm::FixedVectorType>(mask->getType())->getNumElements();
}

// The mask as an integer of 64 bits or more, its first lane lowest.
Value* PointEmitter::bits_of(IRBuilder<>& builder, Value* mask) {
  const unsigned lanes = lanes_of(mask);
  Value* bits = builder.CreateBitCast(builder.CreateFreeze(mask), builder.getIntNTy(lanes));
  return builder.CreateZExt(bits, builder.getIntNTy(std::max(lanes, 64U)));
}

// From the first lane that is set to the last one.
void PointEmitter::test_masked(IRBuilder<>& builder, const Touch& touch) {
  Value* bits = bits_of(builder, touch.mask);
  llvm::Instruction* place = sequence_.branch(builder, builder.CreateIsNotNull(bits), /*is_rare=*/false);
  const auto zeros = [&](llvm::Intrinsic::ID from) {
    Value* lanes = builder.CreateBinaryIntrinsic(from, bits, builder.getTrue());
    return builder.CreateZExtOrTrunc(lanes, sequence_.word());
  };
  Value* width = sequence_.number(bits->getType()->getIntegerBitWidth());
  Value* size = sequence_.number(touch.bytes);
  Value* first = builder.CreateMul(zeros(llvm::Intrinsic::cttz), size);
  Value* after = builder.CreateMul(builder.CreateSub(width, zeros(llvm::Intrinsic::ctlz)), size);
  Value* start = builder.CreateAdd(builder.CreatePtrToInt(touch.pointer, sequence_.word()), first);
  Value* bytes = builder.CreateSub(after, first);
  if (lanes_of(touch.mask) * touch.bytes <= static_cast<uint64_t>(granule_bytes()))
    test_ends(builder, start, bytes, permission_for(touch.writes));
  else
    test_range(builder, start, bytes, touch.writes);
  builder.SetInsertPoint(place);
}

void PointEmitter::test_packed(IRBuilder<>& builder, const Touch& touch) {
  Value* lanes = builder.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, bits_of(builder, touch.mask));
  lanes = builder.CreateZExtOrTrunc(lanes, sequence_.word());
  Value* bytes = builder.CreateMul(lanes, sequence_.number(touch.bytes));
  test_range(builder, builder.CreatePtrToInt(touch.pointer, sequence_.word()), bytes, touch.writes);
}

void PointEmitter::test_gathered(IRBuilder<>& builder, const Touch& touch) {
  const unsigned lanes = lanes_of(touch.mask);
  Value* mask = builder.CreateFreeze(touch.mask);
  for (unsigned lane = 0; lane < lanes; ++lane) {
    Value* is_set = builder.CreateExtractElement(mask, lane);
    llvm::Instruction* place = &*builder.GetInsertPoint();
    if (!llvm::isa<llvm::ConstantInt>(is_set)) sequence_.branch(builder, is_set, /*is_rare=*/false);
    if (is_set != builder.getFalse()) {
      Value* pointer = builder.CreateExtractElement(touch.pointer, lane);
      test_bytes(builder, builder.CreatePtrToInt(pointer, sequence_.word()), touch.bytes, touch.align,
                 permission_for(touch.writes));
    }
    builder.SetInsertPoint(place);
  }
}

void PointEmitter::emit(const Point& point) {
  const Touch& touch = point.touch;
  IRBuilder<> builder(touch.instruction);
  if (point.compared != 0)
    return compare(builder, *llvm::cast<llvm::StoreInst>(touch.instruction), point.compared);
  switch (touch.kind) {
    case Touch::Kind::bytes: {
      Value* address = builder.CreatePtrToInt(touch.pointer, sequence_.word());
      if (point.shift != 0)
        address = builder.CreateAdd(address, sequence_.number(static_cast<uint64_t>(point.shift)));
      const llvm::Align align =
          llvm::commonAlignment(touch.align, static_cast<uint64_t>(std::abs(point.shift)));
      return test_bytes(builder, address, point.bytes, align, point.permission);
    }
    case Touch::Kind::range:
      return test_range(builder, builder.CreatePtrToInt(touch.pointer, sequence_.word()),
                        builder.CreateZExtOrTrunc(touch.length, sequence_.word()), touch.writes);
    case Touch::Kind::masked:
      return test_masked(builder, touch);
    case Touch::Kind::packed:
      return test_packed(builder, touch);
    case Touch::Kind::gathered:
      return test_gathered(builder, touch);
  }
}

// Local variables of the entry block are part of the frame only as long as they stay there.
void gather_variables(llvm::BasicBlock& entry) {
  const llvm::BasicBlock::iterator front = entry.getFirstNonPHIOrDbgOrAlloca();
  if (front == entry.end()) return;
  for (llvm::Instruction& instruction : llvm::make_early_inc_range(llvm::make_range(front, entry.end()))) {
    auto* variable = llvm::dyn_cast<llvm::AllocaInst>(&instruction);
    if (variable != nullptr && variable->isStaticAlloca()) variable->moveBefore(entry, front);
  }
}

}  // namespace

void emit_points(llvm::Function& function, llvm::ArrayRef<Point> points) {
  if (points.empty()) return;
  gather_variables(function.getEntryBlock());
  PointEmitter emitter(function.getContext());
  // The last one first: splitting a block moves all that comes after the place.
  for (const Point& point : llvm::reverse(points)) emitter.emit(point);
}

}  // namespace musubi::compiler
