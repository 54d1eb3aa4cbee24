// A length as a message shows it: n, n - 1, max(n, m) // 2. Sizes that are not worked out from others have letters.
#pragma once

#include <string>
#include <vector>

#include "ir/builder.h"

namespace ct {

// Lengths of one builder, whose texts share their letters.
class LengthNames {
 public:
  std::string text(Value length) { return written(length).text; }

 private:
  struct Written {
    std::string text;
    bool is_sum = false;  // to be put in brackets as a factor
  };
  Written written(Value length);
  std::string name(Value length);

  std::vector<Value> named_;
};

}  // namespace ct
