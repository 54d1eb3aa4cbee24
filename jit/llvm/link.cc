#include "jit/llvm/link.h"

#include <lld/Common/Driver.h>
#include <llvm/Object/ArchiveWriter.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/Path.h>
#include <llvm/Support/raw_ostream.h>

#include <cerrno>
#include <cstring>
#include <mutex>
#include <vector>

LLD_HAS_DRIVER(elf)
LLD_HAS_DRIVER(wasm)

namespace ct::jit {

namespace {

// lld reads and writes files: a directory of its own, gone afterwards.
class TemporaryDirectory {
 public:
  TemporaryDirectory() { error_ = llvm::sys::fs::createUniqueDirectory("cotangent-link", path_); }
  ~TemporaryDirectory() {
    if (!error_) llvm::sys::fs::remove_directories(path_);
  }
  const std::error_code& error() const { return error_; }
  std::string file(const std::string& name) const {
    llvm::SmallString<128> path = path_;
    llvm::sys::path::append(path, name);
    return std::string(path);
  }

 private:
  llvm::SmallString<128> path_;
  std::error_code error_;
};

absl::Status write_file(const std::string& path, const std::string& bytes) {
  std::error_code error;
  llvm::raw_fd_ostream stream(path, error);
  if (!error) {
    stream << bytes;
    stream.close();
    error = stream.error();
    stream.clear_error();  // else the stream ends the process when it goes
  }
  return error ? absl::UnavailableError("cannot write " + path + ": " + error.message()) : absl::OkStatus();
}

// What lld makes of the objects. `arguments` are its name and options.
absl::StatusOr<std::string> link(std::vector<std::string> arguments, absl::Span<const std::string> objects,
                                 lld::DriverDef driver) {
  TemporaryDirectory directory;
  if (directory.error())
    return absl::UnavailableError("cannot make a temporary directory: " + directory.error().message());
  const std::string output = directory.file("linked");
  // One thread: libraries are small, and the process may be one that must not start any.
  arguments.insert(arguments.end(), {"--threads=1", "-o", output});
  for (size_t i = 0; i < objects.size(); ++i) {
    std::string path = directory.file(std::to_string(i) + ".o");
    if (absl::Status status = write_file(path, objects[i]); !status.ok()) return status;
    arguments.push_back(path);
  }
  std::vector<const char*> pointers;
  for (const std::string& argument : arguments) pointers.push_back(argument.c_str());
  std::string output_text, error_text;
  llvm::raw_string_ostream output_stream(output_text), error_stream(error_text);
  {
    static std::mutex& mutex = *new std::mutex;  // lld keeps its state in globals
    std::lock_guard lock(mutex);
    static bool usable = true;
    if (!usable) return absl::InternalError("the linker failed before and cannot run again in this process");
    lld::Result result = lld::lldMain(pointers, output_stream, error_stream, {driver});
    usable = result.canRunAgain;
    if (result.retCode != 0) {
      // What the folder for temporary files has no room or leave for.
      for (int number : {ENOSPC, EDQUOT, EFBIG, EROFS, EACCES, EPERM, EIO}) {
        if (error_text.find(std::strerror(number)) != std::string::npos) {
          return absl::UnavailableError("cannot link: " + error_text);
        }
      }
      return absl::InvalidArgumentError("cannot link: " + error_text);
    }
  }
  llvm::ErrorOr<std::unique_ptr<llvm::MemoryBuffer>> linked = llvm::MemoryBuffer::getFile(output);
  if (!linked) return absl::UnavailableError("cannot read what was linked: " + linked.getError().message());
  return (*linked)->getBuffer().str();
}

}  // namespace

absl::StatusOr<std::string> link_shared_library(absl::Span<const std::string> objects, std::string_view soname) {
  return link({"ld.lld", "-shared", "-soname", std::string(soname), "-z", "noexecstack", "-z", "relro", "-z", "now",
               "--hash-style=gnu", "--build-id=none", "--gc-sections"},
              objects, {lld::Gnu, &lld::elf::link});
}

absl::StatusOr<std::string> link_wasm_module(absl::Span<const std::string> objects,
                                             absl::Span<const std::string> functions) {
  // The stack first: what outgrows it traps, instead of writing over the constants.
  std::vector<std::string> arguments = {"wasm-ld",
                                        "--no-entry",
                                        "--stack-first",
                                        "-z",
                                        "stack-size=" + std::to_string(kWasmStackBytes),
                                        "--export=__heap_base"};
  for (const std::string& function : functions) arguments.push_back("--export=" + function);
  return link(std::move(arguments), objects, {lld::Wasm, &lld::wasm::link});
}

absl::StatusOr<std::string> write_archive(absl::Span<const ArchiveMember> members) {
  std::vector<llvm::NewArchiveMember> list;
  for (const ArchiveMember& member : members) list.emplace_back(llvm::MemoryBufferRef(member.bytes, member.name));
  llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> archive =
      llvm::writeArchiveToBuffer(list, llvm::SymtabWritingMode::NormalSymtab, llvm::object::Archive::K_GNU,
                                 /*Deterministic=*/true, /*Thin=*/false);
  if (!archive) return absl::InvalidArgumentError("cannot write the archive: " + llvm::toString(archive.takeError()));
  return (*archive)->getBuffer().str();
}

}  // namespace ct::jit
