#include "jit/export/saved_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "runtime/error.h"
#include "runtime/hash.h"
#include "runtime/text.h"

namespace ct {
namespace {

constexpr std::string_view kMagic = "CTIRFILE";
constexpr uint64_t kRow = 64, kLine = 64, kPage = 4096;
constexpr size_t kNameBytes = 40;
constexpr uint32_t kMostSections = 4096;

uint64_t aligned(uint64_t offset, uint64_t to) { return (offset + to - 1) / to * to; }

template <class T>
void append(std::string& bytes, T value) {
  for (size_t i = 0; i < sizeof(T); ++i) bytes += static_cast<char>(value >> (8 * i) & 0xff);
}
template <class T>
T read(const char* bytes) {
  T value = 0;
  for (size_t i = 0; i < sizeof(T); ++i) value |= static_cast<T>(static_cast<unsigned char>(bytes[i])) << (8 * i);
  return value;
}

uint64_t checksum(std::string_view bytes) { return hash_bytes(bytes); }

[[noreturn]] void corrupt(const std::string& path, const std::string& what) {
  throw Error(ErrorKind::kCorruptFile, concat(path, " is not a valid saved file: ", what))
      .hint("export it again")
      .see("corrupt-file");
}

bool is_zero(std::string_view bytes) {
  return std::ranges::all_of(bytes, [](char byte) { return byte == 0; });
}

class Descriptor {
 public:
  explicit Descriptor(const std::string& path) : number_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int number() const { return number_; }

 private:
  const int number_;
};

}  // namespace

std::string save_sections(std::vector<SavedSection> sections, const std::vector<Tensor>& arrays) {
  SavedSection weights{std::string(kWeights), {}};
  for (const Tensor& array : arrays) {
    weights.bytes.resize(aligned(weights.bytes.size(), kLine));
    weights.bytes.append(array.as<char>(), static_cast<size_t>(array.aval().bytes()));
  }
  if (!weights.bytes.empty()) sections.push_back(std::move(weights));
  std::string table;
  uint64_t end = kRow + kRow * sections.size();
  for (const SavedSection& section : sections) {
    CT_CHECK(section.name.size() < kNameBytes);
    end = aligned(end, section.name == kWeights ? kPage : kLine);
    std::string row = section.name;
    row.resize(kNameBytes);
    append(row, end);
    append(row, static_cast<uint64_t>(section.bytes.size()));
    append(row, checksum(section.bytes));
    table += row;
    end += section.bytes.size();
  }
  std::string file(kMagic);
  append(file, kSavedFileVersion);
  append(file, static_cast<uint32_t>(sections.size()));
  append(file, checksum(table));
  file.resize(kRow);
  file += table;
  for (const SavedSection& section : sections) {
    file.resize(aligned(file.size(), section.name == kWeights ? kPage : kLine));
    file += section.bytes;
  }
  return file;
}

bool has_sections(std::string_view bytes) { return bytes.starts_with(kMagic); }

std::shared_ptr<const SavedFile> SavedFile::open(const std::string& path) {
  const std::shared_ptr<SavedFile> file(new SavedFile);
  file->path_ = path;
  const Descriptor descriptor(path);
  struct stat status = {};
  if (descriptor.number() < 0 || fstat(descriptor.number(), &status) != 0) {
    throw Error(ErrorKind::kValue, concat("cannot read ", path, ": ", std::strerror(errno)))
        .hint("check the path and its permissions");
  }
  if (!S_ISREG(status.st_mode)) {
    throw Error(ErrorKind::kValue, concat(path, " is not a file")).hint("name a file that was saved");
  }
  file->bytes_ = static_cast<size_t>(status.st_size);
  if (file->bytes_ < kRow) corrupt(path, "it ends too early");
  void* data = mmap(nullptr, file->bytes_, PROT_READ, MAP_PRIVATE, descriptor.number(), 0);
  if (data == MAP_FAILED) {
    throw Error(ErrorKind::kMemory, concat("cannot map ", path, ": ", std::strerror(errno)))
        .hint(concat("it takes ", file->bytes_, " bytes of addresses"));
  }
  file->data_ = static_cast<const char*>(data);

  const std::string_view all(file->data_, file->bytes_);
  if (!has_sections(all)) corrupt(path, "it begins otherwise");
  const auto version = read<uint32_t>(all.data() + 8);
  if (version > kSavedFileVersion) {
    throw Error(ErrorKind::kCorruptFile, concat(path, " was saved by a newer cotangent, as version ", version,
                                                " of the format; this one ", "reads up to ", kSavedFileVersion))
        .hint("upgrade cotangent")
        .see("corrupt-file");
  }
  if (version != kSavedFileVersion) corrupt(path, concat("there is no version ", version, " of the format"));
  const auto count = read<uint32_t>(all.data() + 12);
  if (count > kMostSections || kRow + count * kRow > all.size()) corrupt(path, "its table of sections is cut off");
  const std::string_view table = all.substr(kRow, count * kRow);
  if (checksum(table) != read<uint64_t>(all.data() + 16)) corrupt(path, "its table of sections is damaged");
  uint64_t end = kRow + table.size();
  for (uint32_t i = 0; i < count; ++i) {
    const std::string_view row = table.substr(i * kRow, kRow);
    Place place{std::string(row.substr(0, row.find('\0'))), read<uint64_t>(row.data() + kNameBytes),
                read<uint64_t>(row.data() + kNameBytes + 8), read<uint64_t>(row.data() + kNameBytes + 16)};
    if (place.offset < end || place.offset % kLine != 0 || place.offset > all.size() ||
        place.bytes > all.size() - place.offset) {
      corrupt(path, concat("its section '", place.name, "' is not inside of it"));
    }
    if (!is_zero(all.substr(end, place.offset - end)))
      corrupt(path, concat("there is something before '", place.name, "'"));
    end = place.offset + place.bytes;
    file->places_.push_back(std::move(place));
  }
  if (end != all.size() || !is_zero(all.substr(24, kRow - 24))) corrupt(path, "there is something behind its parts");
  return file;
}

SavedFile::~SavedFile() {
  if (data_ != nullptr) munmap(const_cast<char*>(data_), bytes_);
}

bool SavedFile::has(std::string_view name) const {
  return std::ranges::any_of(places_, [&](const Place& place) { return place.name == name; });
}

const SavedFile::Place& SavedFile::place_of(std::string_view name) const {
  const auto place = std::ranges::find(places_, name, &Place::name);
  if (place == places_.end()) corrupt(path_, concat("it has no section '", name, "'"));
  return *place;
}

std::string_view SavedFile::section(std::string_view name) const {
  const Place& place = place_of(name);
  const std::string_view bytes(data_ + place.offset, place.bytes);
  if (checksum(bytes) != place.checksum) corrupt(path_, concat("its section '", name, "' is damaged"));
  return bytes;
}

std::vector<Tensor> SavedFile::weights(absl::Span<const Aval> avals, int64_t& offset) const {
  std::vector<Tensor> arrays;
  for (const Aval& aval : avals) {
    offset = static_cast<int64_t>(aligned(static_cast<uint64_t>(offset), kLine));
    // Of an empty array there may be no section.
    arrays.push_back(aval.bytes() == 0 ? Tensor(aval) : array_at(aval, static_cast<uint64_t>(offset)));
    offset += aval.bytes();
  }
  return arrays;
}

Tensor SavedFile::array_at(Aval aval, uint64_t offset) const {
  const Place& place = place_of(kWeights);
  const auto bytes = static_cast<uint64_t>(aval.bytes());
  if (offset > place.bytes || bytes > place.bytes - offset) {
    corrupt(path_, "an array is not inside of its weights");
  }
  // Nobody writes to borrowed memory.
  auto* data = const_cast<char*>(data_ + place.offset + offset);
  return {aval, Buffer::borrow(data, bytes, [keep = shared_from_this()] {})};
}

}  // namespace ct
