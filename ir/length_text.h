// A length as a message shows it: x.shape[0], n - 1, max(n, m) // 2. Sizes that are not worked out from others have the
// label that the user's program has for them, or else letters.
#pragma once

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "ir/builder.h"

namespace ct {

// Variables of a program that are lengths, as its user writes them.
struct LengthLabels {
  const Builder* builder = nullptr;
  absl::flat_hash_map<Var, std::string> labels;
};

// While one lives, texts of these lengths are their labels.
class LabelledLengths {
 public:
  explicit LabelledLengths(const LengthLabels& labels);
  LabelledLengths(const LabelledLengths&) = delete;
  LabelledLengths& operator=(const LabelledLengths&) = delete;
  ~LabelledLengths();

 private:
  const LengthLabels* previous_;
};

// Lengths of one builder, whose texts share their letters.
class LengthNames {
 public:
  std::string text(Value length) { return written(length).text; }
  // Whether it is worked out from others.
  bool is_computed(Value length) { return written(length).is_computed; }

 private:
  struct Written {
    std::string text;
    bool is_sum = false;  // to be put in brackets as a factor
    bool is_computed = true;
  };
  Written written(Value length);
  Written name(Value length);

  std::vector<Value> named_;
};

}  // namespace ct
