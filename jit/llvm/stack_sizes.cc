#include "jit/llvm/stack_sizes.h"

#include <llvm/Object/ObjectFile.h>
#include <llvm/Support/DataExtractor.h>

#include <algorithm>

namespace ct::jit {
namespace {

absl::Status failed(llvm::Error error) { return absl::InternalError("stack sizes: " + toString(std::move(error))); }

}  // namespace

absl::StatusOr<StackSizes> stack_sizes(std::string_view object) {
  auto file = llvm::object::ObjectFile::createObjectFile(
      llvm::MemoryBufferRef(llvm::StringRef(object.data(), object.size()), "object"));
  if (!file) return failed(file.takeError());
  const uint8_t address_bytes = (*file)->getBytesInAddress();
  StackSizes sizes;
  for (const llvm::object::SectionRef& section : (*file)->sections()) {
    llvm::Expected<llvm::StringRef> name = section.getName();
    if (!name) return failed(name.takeError());
    if (*name != ".stack_sizes") continue;
    llvm::Expected<llvm::StringRef> contents = section.getContents();
    if (!contents) return failed(contents.takeError());
    // For each function its address and, as LEB128, its bytes.
    const llvm::DataExtractor data(*contents, (*file)->isLittleEndian(), address_bytes);
    llvm::DataExtractor::Cursor at(0);
    while (at && !data.eof(at)) {
      data.getAddress(at);
      const auto bytes = static_cast<int64_t>(data.getULEB128(at)) + address_bytes;
      sizes.largest = std::max(sizes.largest, bytes);
      sizes.all += bytes;
    }
    if (llvm::Error error = at.takeError()) return failed(std::move(error));
  }
  return sizes;
}

}  // namespace ct::jit
