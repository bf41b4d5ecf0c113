#include "emit_points.h"

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
  void test_bytes(IRBuilder<>& builder, Value* address, uint64_t bytes, llvm::Align align, bool writes);
  void test_ends(IRBuilder<>& builder, Value* address, Value* bytes, bool writes);
  void test_range(IRBuilder<>& builder, Value* address, Value* bytes, bool writes);
  void test_masked(IRBuilder<>& builder, const Touch& touch);
  void test_packed(IRBuilder<>& builder, const Touch& touch);
  void test_gathered(IRBuilder<>& builder, const Touch& touch);
  Value* bits_of(IRBuilder<>& builder, Value* mask);
  void call_range(IRBuilder<>& builder, Value* address, Value* bytes, bool writes);

  Sequence sequence_;
};

void PointEmitter::call_range(IRBuilder<>& builder, Value* address, Value* bytes, bool writes) {
  const unsigned entry = writes ? MUSUBI_CHECKS_ENTRY_WRITE_RANGE : MUSUBI_CHECKS_ENTRY_READ_RANGE;
  sequence_.call(builder, sequence_.slot(builder, entry), {address, bytes}, Effects::all);
}

// Bytes that may lie in two granules, but not in more.
void PointEmitter::test_ends(IRBuilder<>& builder, Value* address, Value* bytes, bool writes) {
  Value* last = builder.CreateAdd(address, builder.CreateSub(bytes, sequence_.number(1)));
  Value* states = sequence_.states(builder, address, last);
  llvm::Instruction* place =
      sequence_.branch(builder, sequence_.is_closed(builder, states, writes), /*is_rare=*/true);
  call_range(builder, address, bytes, writes);
  builder.SetInsertPoint(place);
}

void PointEmitter::test_bytes(IRBuilder<>& builder, Value* address, uint64_t bytes, llvm::Align align,
                              bool writes) {
  if (bytes > align.value()) return test_ends(builder, address, sequence_.number(bytes), writes);
  Value* state = sequence_.state(builder, address);
  llvm::Instruction* place =
      sequence_.branch(builder, sequence_.is_closed(builder, state, writes), /*is_rare=*/true);
  const unsigned entry = writes ? MUSUBI_CHECKS_ENTRY_WRITE : MUSUBI_CHECKS_ENTRY_READ;
  sequence_.call(builder, sequence_.slot(builder, entry), {address}, Effects::all);
  builder.SetInsertPoint(place);
}

void PointEmitter::test_range(IRBuilder<>& builder, Value* address, Value* bytes, bool writes) {
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
    test_ends(builder, start, bytes, touch.writes);
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
                 touch.writes);
    }
    builder.SetInsertPoint(place);
  }
}

void PointEmitter::emit(const Point& point) {
  const Touch& touch = point.touch;
  IRBuilder<> builder(touch.instruction);
  switch (touch.kind) {
    case Touch::Kind::bytes: {
      Value* address = builder.CreatePtrToInt(touch.pointer, sequence_.word());
      if (point.shift != 0)
        address = builder.CreateAdd(address, sequence_.number(static_cast<uint64_t>(point.shift)));
      const llvm::Align align =
          llvm::commonAlignment(touch.align, static_cast<uint64_t>(std::abs(point.shift)));
      return test_bytes(builder, address, point.bytes, align, touch.writes);
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
