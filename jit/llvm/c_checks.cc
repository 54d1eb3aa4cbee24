#include "jit/llvm/c_checks.h"

#include <llvm/IR/Module.h>

namespace ct::jit {

llvm::BasicBlock* CChecks::block(const char* name) {
  return llvm::BasicBlock::Create(b_.getContext(), name, b_.GetInsertBlock()->getParent());
}

llvm::Value* CChecks::address(llvm::Value* pointer) { return b_.CreatePtrToInt(pointer, b_.getInt64Ty()); }

llvm::Value* CChecks::apart(llvm::Value* x, llvm::Value* x_bytes, llvm::Value* y, llvm::Value* y_bytes) {
  return b_.CreateOr(b_.CreateICmpUGE(x, b_.CreateAdd(y, y_bytes)), b_.CreateICmpUGE(y, b_.CreateAdd(x, x_bytes)));
}

void CChecks::pointers(absl::Span<const Range> ranges) {
  for (const Range& range : ranges) require_(b_.CreateIsNotNull(range.pointer), kCNull);
  for (const Range& range : ranges) {
    if (range.alignment == 1) continue;
    llvm::Value* rest = b_.CreateAnd(address(range.pointer), b_.getInt64(static_cast<uint64_t>(range.alignment - 1)));
    require_(b_.CreateICmpEQ(rest, b_.getInt64(0)), kCAlignment);
  }
}

void CChecks::overlaps(absl::Span<const Range> ranges) {
  constexpr size_t kMostPairs = 64;  // that are looked at one by one
  const auto bytes = [&](const Range& range) { return b_.getInt64(static_cast<uint64_t>(range.bytes)); };
  if (ranges.size() * ranges.size() / 2 > kMostPairs) return overlaps_in_loops(ranges);
  for (size_t i = 0; i < ranges.size(); ++i) {
    for (size_t j = i + 1; j < ranges.size(); ++j) {
      if (!ranges[i].written && !ranges[j].written) continue;
      require_(apart(address(ranges[i].pointer), bytes(ranges[i]), address(ranges[j].pointer), bytes(ranges[j])),
               kCOverlap);
    }
  }
}

void CChecks::overlaps_in_loops(absl::Span<const Range> ranges) {
  llvm::Type* i64 = b_.getInt64Ty();
  llvm::Value* addresses = b_.CreateAlloca(i64, b_.getInt64(ranges.size()));
  std::vector<uint64_t> bytes, written;
  for (size_t i = 0; i < ranges.size(); ++i) {
    b_.CreateStore(address(ranges[i].pointer), b_.CreateConstInBoundsGEP1_64(i64, addresses, i));
    bytes.push_back(static_cast<uint64_t>(ranges[i].bytes));
    written.push_back(ranges[i].written ? 1 : 0);
  }
  llvm::Value* sizes = table(bytes);
  llvm::Value* is_written = table(written);
  const auto number = [&](llvm::Value* numbers, llvm::Value* i) {
    return b_.CreateLoad(i64, b_.CreateInBoundsGEP(i64, numbers, i));
  };
  repeat(b_.getInt64(ranges.size()), [&](llvm::Value* i) {
    llvm::Value* x = number(addresses, i);
    llvm::Value* x_bytes = number(sizes, i);
    llvm::Value* x_written = number(is_written, i);
    repeat(i, [&](llvm::Value* j) {
      llvm::Value* both_read = b_.CreateICmpEQ(b_.CreateOr(x_written, number(is_written, j)), b_.getInt64(0));
      require_(b_.CreateOr(both_read, apart(x, x_bytes, number(addresses, j), number(sizes, j))), kCOverlap);
    });
  });
}

void CChecks::leaves_apart(llvm::Value* pointers, absl::Span<const Aval> avals, const Range& other) {
  if (avals.empty()) return;
  llvm::Type* i64 = b_.getInt64Ty();
  std::vector<uint64_t> bytes;
  for (const Aval& aval : avals) bytes.push_back(static_cast<uint64_t>(aval.bytes()));
  llvm::Value* sizes = table(bytes);
  llvm::Value* there = address(other.pointer);
  repeat(b_.getInt64(avals.size()), [&](llvm::Value* i) {
    llvm::Value* place = address(b_.CreateLoad(b_.getPtrTy(), b_.CreateInBoundsGEP(b_.getPtrTy(), pointers, i)));
    llvm::Value* size = b_.CreateLoad(i64, b_.CreateInBoundsGEP(i64, sizes, i));
    llvm::Value* empty = b_.CreateICmpEQ(size, b_.getInt64(0));
    require_(b_.CreateOr(empty, apart(place, size, there, b_.getInt64(static_cast<uint64_t>(other.bytes)))), kCOverlap);
  });
}

void CChecks::repeat(llvm::Value* count, const std::function<void(llvm::Value* i)>& body) {
  llvm::BasicBlock* before = b_.GetInsertBlock();
  llvm::BasicBlock* head = block("head");
  llvm::BasicBlock* inside = block("inside");
  llvm::BasicBlock* done = block("done");
  b_.CreateBr(head);
  b_.SetInsertPoint(head);
  llvm::PHINode* i = b_.CreatePHI(b_.getInt64Ty(), 2);
  i->addIncoming(b_.getInt64(0), before);
  b_.CreateCondBr(b_.CreateICmpULT(i, count), inside, done);
  b_.SetInsertPoint(inside);
  body(i);
  i->addIncoming(b_.CreateAdd(i, b_.getInt64(1)), b_.GetInsertBlock());
  b_.CreateBr(head);
  b_.SetInsertPoint(done);
}

llvm::Value* CChecks::table(llvm::ArrayRef<uint64_t> numbers) {
  llvm::Constant* values = llvm::ConstantDataArray::get(b_.getContext(), numbers);
  return new llvm::GlobalVariable(*b_.GetInsertBlock()->getModule(), values->getType(), true,
                                  llvm::GlobalValue::PrivateLinkage, values, "table");
}

void CChecks::pointers_of_leaves(llvm::Value* pointers, absl::Span<const Aval> avals) {
  if (avals.empty()) return;
  // The bits of an address that must be zero: none where there is nothing to point to.
  std::vector<uint64_t> odd_bits, needed;
  for (const Aval& aval : avals) {
    const int64_t alignment = dtype_size(aval.dtype()) / (is_complex(aval.dtype()) ? 2 : 1);
    odd_bits.push_back(aval.bytes() == 0 ? 0 : static_cast<uint64_t>(alignment - 1));
    needed.push_back(aval.bytes() == 0 ? 0 : 1);
  }
  llvm::Type* i64 = b_.getInt64Ty();
  llvm::Value* odd = table(odd_bits);
  llvm::Value* is_needed = table(needed);
  repeat(b_.getInt64(avals.size()), [&](llvm::Value* i) {
    const auto number = [&](llvm::Value* numbers) { return b_.CreateLoad(i64, b_.CreateInBoundsGEP(i64, numbers, i)); };
    llvm::Value* place = address(b_.CreateLoad(b_.getPtrTy(), b_.CreateInBoundsGEP(b_.getPtrTy(), pointers, i)));
    require_(b_.CreateOr(b_.CreateICmpEQ(number(is_needed), b_.getInt64(0)), b_.CreateICmpNE(place, b_.getInt64(0))),
             kCNull);
    require_(b_.CreateICmpEQ(b_.CreateAnd(place, number(odd)), b_.getInt64(0)), kCAlignment);
  });
}

void CChecks::overlaps_of_leaves(llvm::Value* inputs, llvm::Value* outputs, absl::Span<const Aval> input_avals,
                                 absl::Span<const Aval> output_avals, absl::Span<const int> pairs) {
  if (output_avals.empty()) return;
  llvm::Type* i64 = b_.getInt64Ty();
  std::vector<uint64_t> input_bytes, output_bytes, partners;
  for (const Aval& aval : input_avals) input_bytes.push_back(static_cast<uint64_t>(aval.bytes()));
  for (size_t i = 0; i < output_avals.size(); ++i) {
    output_bytes.push_back(static_cast<uint64_t>(output_avals[i].bytes()));
    partners.push_back(static_cast<uint64_t>(static_cast<int64_t>(pairs[i])));
  }
  llvm::Value* bytes_written = table(output_bytes);
  llvm::Value* bytes_read = input_avals.empty() ? nullptr : table(input_bytes);
  llvm::Value* partner = table(partners);
  const auto number = [&](llvm::Value* numbers, llvm::Value* i) {
    return b_.CreateLoad(i64, b_.CreateInBoundsGEP(i64, numbers, i));
  };
  const auto place = [&](llvm::Value* pointers, llvm::Value* i) {
    return address(b_.CreateLoad(b_.getPtrTy(), b_.CreateInBoundsGEP(b_.getPtrTy(), pointers, i)));
  };
  // Arrays without elements overlap nothing.
  const auto check = [&](llvm::Value* x, llvm::Value* x_bytes, llvm::Value* y, llvm::Value* y_bytes,
                         llvm::Value* may_meet) {
    llvm::Value* empty =
        b_.CreateOr(b_.CreateICmpEQ(x_bytes, b_.getInt64(0)), b_.CreateICmpEQ(y_bytes, b_.getInt64(0)));
    require_(b_.CreateOr(b_.CreateOr(empty, may_meet), apart(x, x_bytes, y, y_bytes)), kCOverlap);
  };
  repeat(b_.getInt64(output_avals.size()), [&](llvm::Value* o) {
    llvm::Value* x = place(outputs, o);
    llvm::Value* x_bytes = number(bytes_written, o);
    repeat(o, [&](llvm::Value* other) {
      check(x, x_bytes, place(outputs, other), number(bytes_written, other), b_.getFalse());
    });
    if (input_avals.empty()) return;
    repeat(b_.getInt64(input_avals.size()), [&](llvm::Value* i) {
      llvm::Value* y = place(inputs, i);
      llvm::Value* is_partner = b_.CreateAnd(b_.CreateICmpEQ(number(partner, o), i), b_.CreateICmpEQ(x, y));
      check(x, x_bytes, y, number(bytes_read, i), is_partner);
    });
  });
}

void CChecks::length(llvm::Value* lengths, const BoundedInput& input) {
  llvm::Type* type = b_.getIntNTy(static_cast<unsigned>(8 * dtype_size(input.dtype)));
  repeat(b_.getInt64(static_cast<uint64_t>(input.elements)), [&](llvm::Value* i) {
    llvm::Value* length = b_.CreateLoad(type, b_.CreateInBoundsGEP(type, lengths, i));
    // As unsigned numbers of 64 bits: what is negative is larger than any bound.
    length = is_signed_integer(input.dtype) ? b_.CreateSExt(length, b_.getInt64Ty())
                                            : b_.CreateZExt(length, b_.getInt64Ty());
    require_(b_.CreateICmpULE(length, b_.getInt64(static_cast<uint64_t>(input.bound))), kCLength);
  });
}

}  // namespace ct::jit
