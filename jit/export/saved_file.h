// A file of named sections, NAME.ctir: graphs, what the library looks like as JSON, and the values of arrays, which are
// on pages of their own, so that they are mapped into memory instead of read.
//
//   magic, version, number of sections, checksum of what is before the first section but for these 64 bytes
//   for each section 64 bytes: name, offset, bytes, checksum
//   sections, each from a multiple of 64 on; "weights" from a multiple of kPage on
//
// Files of every released version load forever. Reading trusts nothing: whatever is wrong gives Error(kCorruptFile). A
// file that is mapped must not be changed while its arrays are used; it is replaced as a whole instead.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/tensor.h"

namespace ct {

inline constexpr uint32_t kSavedFileVersion = 3;  // 1 and 2 were single graphs (ir/serialize.h)
inline constexpr std::string_view kWeights = "weights";

struct SavedSection {
  std::string name;  // up to 39 bytes
  std::string bytes;
};
// With the arrays behind the sections, each from a multiple of 64 on.
std::string save_sections(std::vector<SavedSection> sections, const std::vector<Tensor>& arrays);
// Whether the file begins like one; older ones do not.
bool has_sections(std::string_view bytes);

class SavedFile : public std::enable_shared_from_this<SavedFile> {
 public:
  // Reads the table of sections. Error(kValue) naming what failed if the file cannot be read.
  static std::shared_ptr<const SavedFile> open(const std::string& path);
  ~SavedFile();
  SavedFile(const SavedFile&) = delete;
  SavedFile& operator=(const SavedFile&) = delete;

  bool has(std::string_view name) const;
  // Compared with its checksum.
  std::string_view section(std::string_view name) const;
  // Arrays in the file's memory, which they keep, one behind the other from `offset` on, which becomes where they end.
  // The checksum is not looked at, so that nothing is read.
  std::vector<Tensor> weights(absl::Span<const Aval> avals, int64_t& offset) const;

 private:
  struct Place {
    std::string name;
    uint64_t offset, bytes, checksum;
  };
  SavedFile() = default;
  const Place& place_of(std::string_view name) const;
  Tensor array_at(Aval aval, uint64_t offset) const;

  std::string path_;
  const char* data_ = nullptr;
  size_t bytes_ = 0;
  std::vector<Place> places_;
};

}  // namespace ct
