// Which attributes of an equation rules ask for. Type rules ask for all that a primitive has, so that an attribute that
// is never asked for, in a text say, is a mistake.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ir/attrs.h"

namespace ct {

// Notes what this thread reads of `attrs` while it lives.
class AttrReads {
 public:
  explicit AttrReads(const Attrs& attrs);
  ~AttrReads();
  AttrReads(const AttrReads&) = delete;
  AttrReads& operator=(const AttrReads&) = delete;

  void note(const Attrs& attrs, std::string_view key);
  std::vector<std::string> unread() const;

 private:
  const Attrs* attrs_;
  std::vector<bool> read_;  // by item
  AttrReads* outer_;
};

// For type rules of primitives that take whatever attributes there are.
void read_all(const Attrs& attrs);

}  // namespace ct
